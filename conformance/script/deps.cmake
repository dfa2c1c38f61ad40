# Scripts run on sockets over a stack, take values with units, and write captures and whole files.
set(LIBS lockstep_capture lockstep_output lockstep_sockets lockstep_world)
