# Models of the kernel that are the very server and client of HTTP, and the nics of their hosts.
set(LIBS lockstep_http lockstep_load lockstep_sim lockstep_sim_nic)
