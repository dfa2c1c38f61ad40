# libpcap and zlib read captures; output files, failures as exceptions, addresses as text.
set(LIBS lockstep_output lockstep_process lockstep_text pcap z)
