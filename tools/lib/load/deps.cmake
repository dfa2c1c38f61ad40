# http_parser for the replies, the pattern that the server's generated bodies are made of.
set(CORE_ALONE ON)
set(LIBS lockstep_http)
set(TEST_LIBS lockstep_pair)
