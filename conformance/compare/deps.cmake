# Devices, the simulator's referee and writer of segments, scripts, and errors with an exit code.
set(LIBS lockstep_devices lockstep_process lockstep_script lockstep_sim)

# A device that breaks its interface, for the test; not among those that `lockstep devices` lists.
function(lockstep_rude_device)
  if(TARGET compare_test)
    add_library(device_rude MODULE "${PROJECT_SOURCE_DIR}/conformance/compare/rude_device.c")
    set_target_properties(device_rude PROPERTIES PREFIX "" OUTPUT_NAME rude C_STANDARD 11
      C_EXTENSIONS ON LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/rude")
    target_include_directories(device_rude PRIVATE "${PROJECT_SOURCE_DIR}")
    add_dependencies(compare_test device_rude)
    add_dependencies(interop_test device_rude)
  endif()
endfunction()
cmake_language(DEFER CALL lockstep_rude_device)
