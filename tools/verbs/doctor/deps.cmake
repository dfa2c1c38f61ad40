# Facts of interfaces, addresses as text, and a table.
set(LIBS lockstep_hw lockstep_output lockstep_process lockstep_text)
