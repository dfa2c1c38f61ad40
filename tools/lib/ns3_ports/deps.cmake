# Only where ns-3 is; no part of the program lockstep, which does not need it.
set(NEEDS lockstep_ns3)
set(LIBS lockstep_ns3 lockstep_sim_nic ${LOCKSTEP_NS3_MORE})
