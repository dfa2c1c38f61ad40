# It is installed with lockstep::sockets, whose pair in memory stands on it.
set(CORE_ALONE ON)
