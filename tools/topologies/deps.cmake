# Only where ns-3 is; no part of the program lockstep, which does not need it.
set(NEEDS lockstep_ns3)
set(LIBS lockstep_ns3 ${LOCKSTEP_NS3_MORE} lockstep_output lockstep_world lockstep_ns3_ports)
