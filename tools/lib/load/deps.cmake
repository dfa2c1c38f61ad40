# http_parser for responses, and the pattern of the server's generated bodies.
set(CORE_ALONE ON)
set(LIBS lockstep_http)
set(TEST_LIBS lockstep_pair)
