# TOML, values with units, the simulator and what its hosts run.
set(LIBS lockstep_output lockstep_process lockstep_sim lockstep_sim_apps lockstep_sim_nic
  lockstep_text)
set(PLAIN ALL)
