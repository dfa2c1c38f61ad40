# Only where ns-3 is, as tools/topologies.
set(NEEDS lockstep_ns3)
set(LIBS lockstep_ns3 ${LOCKSTEP_NS3_MORE} lockstep_http lockstep_load)
