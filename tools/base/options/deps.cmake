# Options of CLI11 from a TOML file: failures, suggestions, TOML.
set(LIBS lockstep_output lockstep_process lockstep_text)
set(PLAIN ALL)
