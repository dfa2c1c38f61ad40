# Sockets on the hosts of a world that was read from a file.
set(LIBS lockstep_sim lockstep_sim_apps lockstep_sockets lockstep_world_file)
set(TEST_LIBS lockstep_hw)
set(NO_RTTI ON)
set_source_files_properties("${PROJECT_SOURCE_DIR}/tools/lib/sim_sockets/simulated.cpp"
  PROPERTIES COMPILE_OPTIONS -fno-rtti)
cmake_language(DEFER CALL lockstep_sockets_example world sim_sockets
  "^1000000 octets in [0-9]+ ms, fingerprint [0-9a-f]+\n$")
