# The verb starts the Python program in this folder.
set(LIBS lockstep_process)
