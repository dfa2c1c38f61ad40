# Checks of the repository that run as ctest entries: tidy, its own tests, the installed package.
if(NOT LOCKSTEP_TESTS OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
find_package(Python3 3.11 COMPONENTS Interpreter QUIET)
if(NOT Python3_FOUND)
  message(STATUS "no Python 3.11: tidy and the packaging test are left out")
  return()
endif()

add_test(NAME tidy COMMAND ${Python3_EXECUTABLE} "${PROJECT_SOURCE_DIR}/tools/tidy")
add_test(NAME tidy_rules
  COMMAND ${Python3_EXECUTABLE} "${PROJECT_SOURCE_DIR}/tools/tidying/test_tidy.py")
set_tests_properties(tidy tidy_rules PROPERTIES LABELS repository)
