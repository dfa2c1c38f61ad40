# Sockets on the hosts of a world that the reader of its file has made.
set(LIBS lockstep_sockets lockstep_http_world lockstep_world)
# It derives from a class of sim, which has no type information.
set_source_files_properties("${PROJECT_SOURCE_DIR}/tools/sockets_world/simulated.cpp"
  PROPERTIES COMPILE_OPTIONS -fno-rtti)
cmake_language(DEFER CALL lockstep_sockets_example world sockets_world
  "^1000000 octets in [0-9]+ ms, fingerprint [0-9a-f]+\n$")
