# The application, the server that answers it in a simulated world, the journal, worlds from files,
# tables.
set(LIBS lockstep_http_world lockstep_journal lockstep_load lockstep_output lockstep_serve
  lockstep_simrun lockstep_world)
