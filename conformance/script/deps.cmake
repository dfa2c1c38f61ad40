# Scripts run on sockets over a stack, take values with units, read captures as replay does, write
# captures and whole files, and name requirements.
set(LIBS lockstep_coverage lockstep_replay lockstep_capture lockstep_output lockstep_sockets
    lockstep_world)
