# Loads devices, serves one, and prints a table.
set(LIBS lockstep_devices lockstep_output lockstep_process)
