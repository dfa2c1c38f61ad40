# The judge of captures, and journals.
set(LIBS lockstep_devices lockstep_journal lockstep_output lockstep_process lockstep_replay
  lockstep_text)
set(TEST_LIBS lockstep_capture)
