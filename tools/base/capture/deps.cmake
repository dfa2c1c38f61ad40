# What reading captures needs beyond the standard library, and whole output files.
set(LIBS lockstep_output lockstep_process pcap z)
