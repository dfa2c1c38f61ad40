# Built only if ns-3 is found, as tools/verbs/ns3_program.
set(NEEDS lockstep_ns3)
set(LIBS lockstep_http lockstep_load lockstep_ns3 ${LOCKSTEP_NS3_MORE})
