# Tables, pages, atomic output files.
set(LIBS lockstep_output lockstep_process lockstep_requirements)
