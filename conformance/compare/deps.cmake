# Devices, the simulator's referee and writer of segments, scripts, and errors with an exit code.
set(LIBS lockstep_devices lockstep_output lockstep_process lockstep_script lockstep_sim)
