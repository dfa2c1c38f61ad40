# Loads shared objects with congestion controllers.
set(LIBS lockstep_process lockstep_sim)
