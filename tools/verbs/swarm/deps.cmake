# Worlds of devices, atomic output files, and a progress bar.
set(LIBS lockstep_devices lockstep_interop lockstep_output lockstep_process lockstep_sim
  lockstep_sim_nic)
