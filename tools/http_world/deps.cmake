# Models of the kernel that are the very server and client of HTTP, and the cards of their hosts.
set(LIBS lockstep_load lockstep_cards)
