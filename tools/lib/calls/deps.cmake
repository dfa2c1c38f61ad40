# Sockets, failures as exceptions, values with units.
set(LIBS lockstep_process lockstep_sockets lockstep_text)
