# What an interface says, addresses as text, and a verb that prints a table.
set(LIBS lockstep_world lockstep_output)
