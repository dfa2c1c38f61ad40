# Scripts run on sockets over a stack, take values with units, read captures as replay does, and
# write captures and whole files.
set(LIBS lockstep_replay lockstep_capture lockstep_output lockstep_sockets lockstep_world)
