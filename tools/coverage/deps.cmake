# Tables, pages, whole output files.
set(LIBS lockstep_output)
