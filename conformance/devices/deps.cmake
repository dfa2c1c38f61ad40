# The folder's library loads devices; the devices themselves are modules in devices/ of the build.
set(LIBS lockstep_calls lockstep_process)

# devices/NAME.so from conformance/devices/NAME.
function(lockstep_device name)
  set(folder "${PROJECT_SOURCE_DIR}/conformance/devices/${name}")
  add_library(device_${name} MODULE "${folder}/device.cpp")
  set_target_properties(device_${name} PROPERTIES PREFIX "" OUTPUT_NAME "${name}"
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/devices"
    LINK_DEPENDS "${folder}/exports.map")
  target_link_options(device_${name} PRIVATE LINKER:--as-needed
    "LINKER:--version-script=${folder}/exports.map")
  target_include_directories(device_${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(device_${name} PRIVATE lockstep_warnings ${ARGN})
  add_dependencies(program_lockstep device_${name})
  if(PROJECT_IS_TOP_LEVEL)
    install(TARGETS device_${name} LIBRARY DESTINATION lib/lockstep/devices)
  endif()
endfunction()

function(lockstep_devices)
  set(folder "${PROJECT_SOURCE_DIR}/conformance/devices")
  add_library(lockstep_device_program STATIC "${folder}/program.c")
  set_target_properties(lockstep_device_program PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
  target_include_directories(lockstep_device_program PUBLIC "${PROJECT_SOURCE_DIR}")
  target_compile_options(lockstep_device_program PRIVATE -Wall -Wextra -Wpedantic -Wconversion
    -Wshadow $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
  target_link_libraries(lockstep_devices PUBLIC lockstep_device_program ${CMAKE_DL_LIBS})
  lockstep_device(lockstep lockstep_calls lockstep_third_party)
  if(TARGET devices_test)
    add_dependencies(devices_test device_lockstep)
  endif()
  # The library is that of tools/proofs/bench. Without liblwip-dev the device is left out.
  find_path(LOCKSTEP_LWIP_INCLUDE lwip/tcp.h PATH_SUFFIXES lwip)
  find_library(LOCKSTEP_LWIP_LIBRARY lwip)
  if(LOCKSTEP_LWIP_INCLUDE AND LOCKSTEP_LWIP_LIBRARY)
    lockstep_device(lwip "${LOCKSTEP_LWIP_LIBRARY}")
    target_include_directories(device_lwip SYSTEM PRIVATE "${LOCKSTEP_LWIP_INCLUDE}")
  endif()
endfunction()
cmake_language(DEFER CALL lockstep_devices)
