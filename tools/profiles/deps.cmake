# Values are written as in a world, and a verb prints a table.
set(LIBS lockstep_world lockstep_output)
