# Tables, atomic output files, and profiles by name.
set(LIBS lockstep_output lockstep_process lockstep_sim lockstep_text)
