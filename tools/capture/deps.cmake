# What reading captures needs beyond the standard library, and whole output files.
set(LIBS pcap lockstep_output)
