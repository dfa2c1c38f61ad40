# Installed as lockstep::sockets. The examples here and in tools/lib/sim_sockets are C programs that
# are run as tests.
set(CORE_ALONE ON)
set(LIBS lockstep_pair)
set(TEST_LIBS lockstep_hw)

function(lockstep_sockets_example name folder says)
  add_executable(program_sockets_${name} "${PROJECT_SOURCE_DIR}/tools/lib/${folder}/example.c")
  # Strict C99 warnings for a program that includes the header; the library itself is C++.
  set_target_properties(program_sockets_${name} PROPERTIES OUTPUT_NAME sockets-${name}
    C_STANDARD 99 C_EXTENSIONS ON LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  target_compile_options(program_sockets_${name} PRIVATE -Wall -Wextra -Wpedantic -Wconversion
    $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
  target_compile_definitions(program_sockets_${name} PRIVATE _GNU_SOURCE)
  target_link_libraries(program_sockets_${name} PRIVATE lockstep_${folder})
  if(LOCKSTEP_TESTS)
    add_test(NAME example_of_${folder} COMMAND program_sockets_${name}
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(example_of_${folder} PROPERTIES PASS_REGULAR_EXPRESSION "${says}")
  endif()
endfunction()
cmake_language(DEFER CALL lockstep_sockets_example example sockets
  "echo: hello\nthe peer has closed: yes, recv gives 0\n")
