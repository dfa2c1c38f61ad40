# The parser and runner of scripts.
set(LIBS lockstep_devices lockstep_output lockstep_process lockstep_script lockstep_text)
set(TEST_LIBS lockstep_replay)
