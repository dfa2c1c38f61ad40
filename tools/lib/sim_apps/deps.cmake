# Models of the kernel around the HTTP server and client, and the NICs of their hosts.
set(LIBS lockstep_http lockstep_load lockstep_sim lockstep_sim_nic)
