# http_parser for the replies, the pattern that the server's generated bodies are made of.
set(LIBS lockstep_http)
