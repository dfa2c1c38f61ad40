# Scripts make their calls on the sockets of a stack.
set(LIBS lockstep_sockets)
