# The server, the journal, what a load can be tried on, tables and whole output files, addresses and
# fields of Config as text.
set(LIBS lockstep_calls lockstep_http lockstep_hw lockstep_journal lockstep_load lockstep_output
  lockstep_process lockstep_text)
