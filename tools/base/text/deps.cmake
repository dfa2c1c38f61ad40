# Failures as exceptions, TOML.
set(LIBS lockstep_output lockstep_process)
set(PLAIN ALL)
