# Lint reads captures, prints tables, writes whole files, and reads numbers with units.
set(LIBS lockstep_capture lockstep_output lockstep_world lockstep_sim)
