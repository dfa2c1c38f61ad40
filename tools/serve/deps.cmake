# The server, the journal, tables and whole output files, addresses as text.
set(LIBS lockstep_http lockstep_journal lockstep_output lockstep_world)
