# Runs are of worlds read from TOML.
set(LIBS lockstep_world)
