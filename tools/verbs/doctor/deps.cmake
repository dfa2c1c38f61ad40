# What an interface says, addresses as text, and a verb that prints a table.
set(LIBS lockstep_hw lockstep_output lockstep_process lockstep_text)
