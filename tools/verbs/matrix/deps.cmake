# Tables, whole output files, and a bar while it runs.
set(LIBS lockstep_output lockstep_process lockstep_sim lockstep_sim_nic)
