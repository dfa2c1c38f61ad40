# Built only if ns-3 is found; not part of the program lockstep.
set(NEEDS lockstep_ns3)
set(LIBS lockstep_ns3 lockstep_sim_nic ${LOCKSTEP_NS3_MORE})
