# The applications that are replayed, output files, captures, addresses as text.
set(LIBS lockstep_capture lockstep_http lockstep_hw lockstep_load lockstep_output lockstep_process
  lockstep_sim lockstep_text)
set(TEST_LIBS lockstep_pair)
