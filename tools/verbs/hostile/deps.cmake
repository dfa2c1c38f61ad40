# Tables, atomic output files, profiles by name, and devices as victims.
set(LIBS lockstep_devices lockstep_interop lockstep_output lockstep_process lockstep_sim
  lockstep_text)
