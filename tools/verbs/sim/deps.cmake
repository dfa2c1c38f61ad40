# Worlds from TOML, tables and output files.
set(LIBS lockstep_controllers lockstep_devices lockstep_interop lockstep_output lockstep_process
  lockstep_sim lockstep_sim_apps lockstep_sim_report lockstep_text lockstep_world_file)
set(TEST_LIBS lockstep_sim_nic)
set(OPTIMIZED run.cpp series.cpp)
