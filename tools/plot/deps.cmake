# It becomes the Python program beside it.
set(LIBS lockstep_become)
