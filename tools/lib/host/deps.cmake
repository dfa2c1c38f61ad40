# Installed as lockstep::host: drivers, sockets, addresses as text.
set(CORE_ALONE ON)
set(LIBS lockstep_hw lockstep_parse lockstep_sockets)
