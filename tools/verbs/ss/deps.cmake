# The client of control sockets, tables and JSON, addresses as text.
set(LIBS lockstep_control lockstep_output lockstep_process lockstep_text)
set(PLAIN ALL)
