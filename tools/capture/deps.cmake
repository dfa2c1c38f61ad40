# What reading captures needs beyond the standard library.
set(LIBS pcap)
