# Tables and whole pages.
set(LIBS lockstep_output lockstep_process)
