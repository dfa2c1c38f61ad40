# The pair in memory stands on the benchmark's wire. The example is a program in C, run as a test.
set(LIBS lockstep_benchmark)

function(lockstep_sockets_example)
  add_executable(program_sockets_example "${PROJECT_SOURCE_DIR}/tools/sockets/example.c")
  # What a program in C is held to that includes the header; the library itself is C++.
  set_target_properties(program_sockets_example PROPERTIES OUTPUT_NAME sockets-example
    C_STANDARD 99 C_EXTENSIONS ON LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  target_compile_options(program_sockets_example PRIVATE -Wall -Wextra -Wpedantic -Wconversion
    $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
  target_compile_definitions(program_sockets_example PRIVATE _GNU_SOURCE)
  target_link_libraries(program_sockets_example PRIVATE lockstep_sockets)
  if(LOCKSTEP_TESTS)
    add_test(NAME sockets_example COMMAND program_sockets_example)
    set_tests_properties(sockets_example PROPERTIES PASS_REGULAR_EXPRESSION
      "echo: hello\nthe peer has closed: yes, recv gives 0\n")
  endif()
endfunction()
cmake_language(DEFER CALL lockstep_sockets_example)
