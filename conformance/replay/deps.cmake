# Replay reads captures and scenarios in TOML, plays to devices, and writes whole files.
set(LIBS lockstep_capture lockstep_devices lockstep_output lockstep_pair lockstep_process
  lockstep_sim lockstep_text)
set(PLAIN export.cpp live.cpp report.cpp scenario.cpp script.cpp)
