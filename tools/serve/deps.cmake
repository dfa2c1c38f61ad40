# The server, the journal, tables and whole output files, addresses and fields of Config as text.
set(LIBS lockstep_http lockstep_journal lockstep_output lockstep_world lockstep_python)
