# Installed with lockstep::sockets, whose pair of stacks in memory uses it.
set(CORE_ALONE ON)
