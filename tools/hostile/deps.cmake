# Tables, whole output files, and profiles by name.
set(LIBS lockstep_world lockstep_output)
