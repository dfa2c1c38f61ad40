# The application that is replayed, whole output files, captures, addresses as text.
set(LIBS lockstep_http lockstep_load lockstep_output lockstep_capture lockstep_world)
