# The load application, the server that answers it in a simulated world, the journal, worlds from
# files, options from files, tables.
set(LIBS lockstep_controllers lockstep_host lockstep_http lockstep_hw lockstep_journal lockstep_load
  lockstep_options lockstep_output lockstep_process lockstep_sim lockstep_sim_apps lockstep_text
  lockstep_verb_serve lockstep_verb_sim lockstep_world_file)
# They hold the polling loop and the simulated worlds of the load.
set(OPTIMIZED simulate.cpp wire.cpp)
