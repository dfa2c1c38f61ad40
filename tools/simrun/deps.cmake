# Runs are of worlds read from TOML, and end in tables and files.
set(LIBS lockstep_http_world lockstep_world lockstep_output)
