# The Python module `lockstep`, in <build>/python beside its Python files, and in a wheel.

# Finds the interpreter that has nanobind: the build frontend's, or that of build/venv. A macro, so
# that the variables are set in the caller's scope.
macro(lockstep_find_nanobind)
  set(venv "${PROJECT_SOURCE_DIR}/build/venv/bin/python")
  if(NOT SKBUILD AND NOT Python_EXECUTABLE AND EXISTS "${venv}")
    set(Python_EXECUTABLE "${venv}" CACHE FILEPATH "The Python that the module is built for")
  endif()
  find_package(Python 3.11 COMPONENTS Interpreter Development.Module QUIET)
  if(Python_FOUND AND NOT nanobind_DIR)
    execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(folder)
      # Forced: a build folder that was configured earlier has cached that there was none.
      set(nanobind_DIR "${folder}" CACHE PATH "Where nanobind's CMake files are" FORCE)
    endif()
  endif()
  if(Python_FOUND)
    find_package(nanobind CONFIG QUIET)
  endif()
endmacro()

# Names what is missing; empty if nothing is.
function(lockstep_why_no_module out)
  set(why "")
  if(NOT Python_FOUND)
    set(why "Python 3.11 or its headers are missing: run tools/setup")
  elseif(NOT nanobind_FOUND)
    set(why "${Python_EXECUTABLE} has no nanobind: run tools/setup")
  endif()
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

# Copies a file of the package beside the compiled module, and puts it into a wheel; BELOW is its
# folder in the package. Appends the copy to `copies` of the caller.
macro(lockstep_python_copy from folder below)
  get_filename_component(file "${from}" NAME)
  set(copy "${folder}/${below}/${file}")
  cmake_path(NORMAL_PATH copy)
  add_custom_command(OUTPUT "${copy}"
    COMMAND ${CMAKE_COMMAND} -E copy "${from}" "${copy}" DEPENDS "${from}")
  list(APPEND copies "${copy}")
  install(FILES "${from}" DESTINATION "lockstep/${below}" COMPONENT python EXCLUDE_FROM_ALL)
endmacro()

# Copies the Python files beside the compiled module, so that the package can be imported from
# there; the requirements, which lockstep.testing prints; and what a device, or a congestion
# controller, in C includes.
function(lockstep_python_files folder)
  set(from "${PROJECT_SOURCE_DIR}/tools/python/package/lockstep")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${from}" "${from}/*.py" "${from}/*.pyi"
    "${from}/*.html" "${from}/py.typed")
  file(GLOB requirements CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/conformance/requirements/rfc*.toml")
  set(copies "")
  foreach(name IN LISTS files)
    get_filename_component(below "${name}" DIRECTORY)
    lockstep_python_copy("${from}/${name}" "${folder}" "${below}")
  endforeach()
  foreach(path IN LISTS requirements)
    lockstep_python_copy("${path}" "${folder}" testing/requirements)
  endforeach()
  foreach(name IN ITEMS device.h program.h program.c)
    lockstep_python_copy("${PROJECT_SOURCE_DIR}/conformance/devices/${name}" "${folder}"
      include/conformance/devices)
  endforeach()
  lockstep_python_copy("${PROJECT_SOURCE_DIR}/core/tcp/congestion/controller.h" "${folder}"
    include/core/tcp/congestion)
  add_custom_target(python_files ALL DEPENDS ${copies})
endfunction()

# Puts the tests of conformance/scapy into a wheel, as the package lockstep_conformance; and the
# program that serves a device in C to them.
function(lockstep_python_suite)
  set(room "${PROJECT_SOURCE_DIR}/conformance/scapy")
  file(GLOB tests CONFIGURE_DEPENDS "${room}/test_*.py")
  list(REMOVE_ITEM tests "${room}/test_live.py" "${room}/test_targets.py")
  install(FILES ${tests} "${room}/packet_kit.py" "${room}/arrival_rules.py"
    DESTINATION lockstep_conformance/suite COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/python/package/lockstep_conformance/__init__.py"
    DESTINATION lockstep_conformance COMPONENT python EXCLUDE_FROM_ALL)
  if(SKBUILD)
    install(TARGETS program_lockstep_device RUNTIME DESTINATION "${SKBUILD_SCRIPTS_DIR}"
      COMPONENT python EXCLUDE_FROM_ALL)
  endif()
endfunction()

function(lockstep_python_module)
  if(NOT LOCKSTEP_TESTS AND NOT SKBUILD)
    return()
  endif()
  if(LOCKSTEP_SANITIZE OR LOCKSTEP_FUZZ OR CMAKE_CROSSCOMPILING)
    message(STATUS "the Python module 'lockstep' is left out: Python is not built as this is")
    return()
  endif()
  lockstep_find_nanobind()
  lockstep_why_no_module(why)
  if(why)
    if(SKBUILD)
      message(FATAL_ERROR "the Python module 'lockstep' cannot be built: ${why}")
    endif()
    message(WARNING "the Python module 'lockstep' is left out, and its tests: ${why}")
    return()
  endif()
  set(folder "${PROJECT_BINARY_DIR}/python/lockstep")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/python/binding/*.cpp")
  nanobind_add_module(python_core NB_STATIC NOMINSIZE NB_SUPPRESS_WARNINGS ${sources})
  target_link_libraries(python_core PRIVATE lockstep_python lockstep_warnings)
  if(LOCKSTEP_JOINED)
    set_target_properties(nanobind-static PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
  endif()
  set_target_properties(python_core PROPERTIES OUTPUT_NAME _core
    LIBRARY_OUTPUT_DIRECTORY "${folder}")
  lockstep_python_files("${folder}")
  add_dependencies(python_core python_files)
  lockstep_python_suite()
  # Type stubs of the compiled part, generated from the module.
  nanobind_add_stub(python_stub MODULE lockstep._core OUTPUT "${folder}/_core.pyi"
    PYTHON_PATH "${PROJECT_BINARY_DIR}/python" DEPENDS python_core python_files)
  install(FILES "${folder}/_core.pyi" DESTINATION lockstep COMPONENT python EXCLUDE_FROM_ALL)
  install(TARGETS python_core LIBRARY DESTINATION lockstep COMPONENT python EXCLUDE_FROM_ALL)
endfunction()
