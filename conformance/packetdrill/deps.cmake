# Uses the stack setup of conformance/script. The folder's library becomes the shared library
# liblockstep_packetdrill.so, which exports one symbol.
set(LIBS lockstep_process lockstep_script lockstep_sockets lockstep_text)

function(lockstep_packetdrill_library)
  set(folder "${PROJECT_SOURCE_DIR}/conformance/packetdrill")
  add_library(packetdrill_so SHARED "${folder}/layout.c")
  set_target_properties(packetdrill_so PROPERTIES OUTPUT_NAME lockstep_packetdrill
    C_STANDARD 11 C_EXTENSIONS ON LINKER_LANGUAGE CXX LINK_DEPENDS "${folder}/exports.map")
  target_compile_options(packetdrill_so PRIVATE -Wall -Wextra -Wpedantic
    $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
  target_compile_definitions(packetdrill_so PRIVATE _GNU_SOURCE)
  target_link_options(packetdrill_so PRIVATE LINKER:--as-needed
    "LINKER:--version-script=${folder}/exports.map" "LINKER:--undefined=packetdrill_interface_init")
  target_link_libraries(packetdrill_so PRIVATE lockstep_packetdrill)
  if(LOCKSTEP_TESTS)
    add_dependencies(packetdrill_test packetdrill_so)
    target_compile_definitions(packetdrill_test PRIVATE
      LOCKSTEP_PACKETDRILL_SO="$<TARGET_FILE:packetdrill_so>")
    target_link_libraries(packetdrill_test PRIVATE ${CMAKE_DL_LIBS})
    add_test(NAME packetdrill_symbols
      COMMAND nm -D --defined-only -f posix "$<TARGET_FILE:packetdrill_so>")
    set_tests_properties(packetdrill_symbols PROPERTIES PASS_REGULAR_EXPRESSION
      "^packetdrill_interface_init T [0-9a-f ]+\n$")
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    install(TARGETS packetdrill_so LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
endfunction()
cmake_language(DEFER CALL lockstep_packetdrill_library)
