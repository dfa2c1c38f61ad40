# Tables, pages, whole output files.
set(LIBS lockstep_output lockstep_process lockstep_requirements)
