# The applications that are replayed, output files, captures, addresses as text.
set(LIBS lockstep_capture lockstep_http lockstep_hw lockstep_load lockstep_output lockstep_process
  lockstep_sim lockstep_text)
set(TEST_LIBS lockstep_pair)
set(PLAIN begin.cpp config_json.cpp http_parts.cpp inspection.cpp load_parts.cpp)
