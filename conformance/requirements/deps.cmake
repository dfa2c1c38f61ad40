# Tables and pages.
set(LIBS lockstep_output lockstep_process)
set(PLAIN ALL)
