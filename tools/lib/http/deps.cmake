# Joyent's http_parser and Nettle's SHA-256: incremental, without allocation. The tests join two
# stacks in memory.
find_library(LOCKSTEP_HTTP_PARSER http_parser)
find_path(LOCKSTEP_HTTP_PARSER_HEADER http_parser.h)
if(NOT LOCKSTEP_HTTP_PARSER OR NOT LOCKSTEP_HTTP_PARSER_HEADER)
  message(FATAL_ERROR
    "http_parser is missing (libhttp-parser-dev): run tools/setup, or pass -DLOCKSTEP_TOOLS=OFF")
endif()
find_library(LOCKSTEP_NETTLE nettle)
find_path(LOCKSTEP_NETTLE_HEADER nettle/sha2.h)
if(NOT LOCKSTEP_NETTLE OR NOT LOCKSTEP_NETTLE_HEADER)
  message(FATAL_ERROR
    "Nettle is missing (nettle-dev): run tools/setup, or pass -DLOCKSTEP_TOOLS=OFF")
endif()
set(CORE_ALONE ON)
set(LIBS ${LOCKSTEP_HTTP_PARSER} ${LOCKSTEP_NETTLE})
set(TEST_LIBS lockstep_pair)
