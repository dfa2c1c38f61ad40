# Whole output files, and a bar while it runs.
set(LIBS lockstep_cards lockstep_output)
