# Checks of the repository that run as ctest entries: tidy, its own tests, the listed mutations, the
# installed package.
if(NOT LOCKSTEP_TESTS OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
if(TARGET lockstep_runner)
  # In every build, because any build might change the frames.
  add_test(NAME fingerprints COMMAND
    "${PROJECT_SOURCE_DIR}/tools/determinism" --check $<TARGET_FILE:lockstep_runner>)
endif()
find_package(Python3 3.11 COMPONENTS Interpreter QUIET)
if(NOT Python3_FOUND)
  message(STATUS "no Python 3.11: tidy and the packaging test are left out")
  return()
endif()

add_test(NAME tidy COMMAND ${Python3_EXECUTABLE} "${PROJECT_SOURCE_DIR}/tools/tidy")
add_test(NAME tidy_rules
  COMMAND ${Python3_EXECUTABLE} -m unittest discover -s dev/tidy -t .
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}/tools")
add_test(NAME mutations_apply
  COMMAND ${Python3_EXECUTABLE} "${PROJECT_SOURCE_DIR}/tools/mutants" --listed --check)
set_tests_properties(tidy tidy_rules mutations_apply PROPERTIES LABELS repository)

if(LOCKSTEP_TOOLS AND NOT CMAKE_CROSSCOMPILING)
  set(flags "${CMAKE_CXX_FLAGS}")
  if(LOCKSTEP_SANITIZE)
    string(APPEND flags " -fsanitize=${LOCKSTEP_SANITIZE}")
  endif()
  add_test(NAME install COMMAND ${Python3_EXECUTABLE}
    "${PROJECT_SOURCE_DIR}/tools/dev/packaging/try_install.py" "${PROJECT_BINARY_DIR}"
    "--compiler=${CMAKE_CXX_COMPILER}" "--flags=${flags}")
  set_tests_properties(install PROPERTIES LABELS repository)
endif()
