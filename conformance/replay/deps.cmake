# Replay reads captures and scenarios in TOML, and writes whole files.
set(LIBS lockstep_cards lockstep_capture lockstep_output lockstep_world lockstep_journal)
