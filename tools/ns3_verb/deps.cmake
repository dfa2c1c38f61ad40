# It becomes lockstep_ns3.
set(LIBS lockstep_become)
