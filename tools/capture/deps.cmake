# What reading captures needs beyond the standard library, and whole output files.
set(LIBS pcap z lockstep_output)
