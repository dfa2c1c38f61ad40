# The verb starts lockstep_ns3.
set(LIBS lockstep_process)
