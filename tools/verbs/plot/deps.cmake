# It runs the Python program beside it.
set(LIBS lockstep_process)
