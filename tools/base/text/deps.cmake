# Failures as exceptions, TOML, numbers with units.
set(LIBS lockstep_output lockstep_parse lockstep_process)
set(PLAIN ALL)
