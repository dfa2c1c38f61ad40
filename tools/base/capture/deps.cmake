# libpcap and zlib read captures; output files, failures as exceptions.
set(LIBS lockstep_output lockstep_process pcap z)
