# Lint reads captures, prints tables, writes whole files, and reads numbers with units; its test
# judges what replays of the project's captures sent.
set(LIBS lockstep_capture lockstep_output lockstep_process lockstep_sim lockstep_text)
set(TEST_LIBS lockstep_replay)
