# Values are written as in a world, and a verb prints a table.
set(LIBS lockstep_output lockstep_process lockstep_text)
