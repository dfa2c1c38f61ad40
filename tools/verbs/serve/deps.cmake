# The server, the journal, the servers for loads, the control socket, options from files, tables and
# atomic output files, addresses and fields of Config as text.
set(LIBS lockstep_calls lockstep_control lockstep_controllers lockstep_host lockstep_http
  lockstep_hw lockstep_journal lockstep_load lockstep_options lockstep_output lockstep_process
  lockstep_sim lockstep_text)
# They hold the polling loops of the servers.
set(OPTIMIZED calls.cpp plain.cpp serve.cpp)
