# The folder's library loads devices; the devices themselves are modules in devices/ of the build.
set(LIBS lockstep_calls lockstep_process lockstep_text)

# devices/NAME.so from SOURCE, which exports what the map beside it says.
function(lockstep_device name source)
  get_filename_component(folder "${PROJECT_SOURCE_DIR}/conformance/devices/${source}" DIRECTORY)
  add_library(device_${name} MODULE "${PROJECT_SOURCE_DIR}/conformance/devices/${source}")
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

# What cargo knows of the crates that conformance/devices/NAME/Cargo.toml names, as JSON; empty
# without cargo, or without the crates that `tools/setup --with devices` downloads.
function(lockstep_crates result name)
  set(${result} "" PARENT_SCOPE)
  find_program(LOCKSTEP_CARGO cargo HINTS "$ENV{HOME}/.cargo/bin")
  if(NOT LOCKSTEP_CARGO OR LOCKSTEP_SANITIZE)
    return()
  endif()
  execute_process(COMMAND "${LOCKSTEP_CARGO}" metadata --format-version 1 --locked --offline
      --manifest-path "${PROJECT_SOURCE_DIR}/conformance/devices/${name}/Cargo.toml"
    RESULT_VARIABLE failed OUTPUT_VARIABLE known ERROR_QUIET)
  if(NOT failed)
    set(${result} "${known}" PARENT_SCOPE)
  endif()
endfunction()

# The folder of lwIP's development head, which the crate lwip contains; empty without it.
function(lockstep_lwip_head result)
  set(${result} "" PARENT_SCOPE)
  lockstep_crates(known lwip_head)
  string(REGEX MATCH "\"manifest_path\":\"([^\"]*/lwip-[0-9.]+)/Cargo.toml\"" found "${known}")
  if(found AND EXISTS "${CMAKE_MATCH_1}/src/core/tcp.c")
    set(${result} "${CMAKE_MATCH_1}/src" PARENT_SCOPE)
  endif()
endfunction()

# devices/NAME.so from the Rust in conformance/devices/NAME.
function(lockstep_device_of_crate name)
  set(folder "${PROJECT_SOURCE_DIR}/conformance/devices/${name}")
  lockstep_crates(known ${name})
  if(NOT known)
    return()
  endif()
  set(target "${PROJECT_BINARY_DIR}/devices/cargo")
  set(module "${PROJECT_BINARY_DIR}/devices/${name}.so")
  add_custom_command(OUTPUT "${module}"
    COMMAND "${LOCKSTEP_CARGO}" build --quiet --release --locked --offline
            --manifest-path "${folder}/Cargo.toml" --target-dir "${target}"
    COMMAND ${CMAKE_COMMAND} -E copy "${target}/release/liblockstep_device_${name}.so" "${module}"
    DEPENDS "${folder}/device.rs" "${folder}/Cargo.toml" "${folder}/Cargo.lock" VERBATIM)
  add_custom_target(device_${name} DEPENDS "${module}")
  add_dependencies(program_lockstep device_${name})
  if(PROJECT_IS_TOP_LEVEL)
    install(FILES "${module}" DESTINATION lib/lockstep/devices)
  endif()
endfunction()

# A Go that can build conformance/devices/NAME without a network: the first of the candidates that
# is new enough and finds all modules; empty if there is none.
function(lockstep_go result name)
  set(${result} "" PARENT_SCOPE)
  file(GLOB wheels "${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/go/bin")
  find_program(LOCKSTEP_GO go HINTS /usr/local/go/bin)
  foreach(go IN LISTS LOCKSTEP_GO wheels)
    if(IS_DIRECTORY "${go}")
      set(go "${go}/go")
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} -E env ${ARGN} "${go}" list -deps .
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}/conformance/devices/${name}"
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(${result} "${go}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# devices/NAME/device, a program, from the Go in conformance/devices/NAME.
function(lockstep_device_of_module name)
  if(LOCKSTEP_SANITIZE)
    return()
  endif()
  set(alone GOPROXY=off GOTOOLCHAIN=local GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0)
  lockstep_go(go ${name} ${alone})
  if(NOT go)
    message(STATUS "device ${name} is left out: there is no Go that is new enough, or its modules "
      "are missing: tools/setup --with devices")
    return()
  endif()
  set(folder "${PROJECT_SOURCE_DIR}/conformance/devices/${name}")
  set(program "${PROJECT_BINARY_DIR}/devices/${name}/device")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.go")
  add_custom_command(OUTPUT "${program}"
    COMMAND ${CMAKE_COMMAND} -E env ${alone} "${go}" build -trimpath -buildvcs=false -p 2
            -o "${program}" .
    WORKING_DIRECTORY "${folder}"
    DEPENDS ${sources} "${folder}/go.mod" "${folder}/go.sum" VERBATIM)
  add_custom_target(device_${name} DEPENDS "${program}")
  add_dependencies(program_lockstep device_${name})
  if(PROJECT_IS_TOP_LEVEL)
    install(PROGRAMS "${program}" DESTINATION lib/lockstep/devices/${name})
  endif()
endfunction()

# The program that makes the calls on a device on a wire: static, so that it can be copied there.
option(LOCKSTEP_AGENT "Build lockstep_agent, which runs on a device under test" ON)
function(lockstep_agent)
  if(NOT LOCKSTEP_AGENT OR LOCKSTEP_SANITIZE OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(folder "${PROJECT_SOURCE_DIR}/conformance/devices")
  add_executable(lockstep_agent "${folder}/remote/lockstep_agent.c" "${folder}/remote/sockets.c")
  set_target_properties(lockstep_agent PROPERTIES C_STANDARD 11 C_EXTENSIONS ON
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  target_compile_options(lockstep_agent PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
  target_link_options(lockstep_agent PRIVATE -static)
  target_link_libraries(lockstep_agent PRIVATE lockstep_device_program)
endfunction()

function(lockstep_devices)
  set(folder "${PROJECT_SOURCE_DIR}/conformance/devices")
  add_library(lockstep_device_program STATIC "${folder}/program.c")
  set_target_properties(lockstep_device_program PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
  target_include_directories(lockstep_device_program PUBLIC "${PROJECT_SOURCE_DIR}")
  target_compile_options(lockstep_device_program PRIVATE -Wall -Wextra -Wpedantic -Wconversion
    -Wshadow $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
  target_link_libraries(lockstep_devices PUBLIC lockstep_device_program ${CMAKE_DL_LIBS})
  target_sources(lockstep_devices PRIVATE "${folder}/linux/guest.cpp")
  lockstep_agent()
  lockstep_device(lockstep lockstep/device.cpp lockstep_calls lockstep_third_party)
  foreach(test IN ITEMS compare_test devices_test interop_test overlaps_test script_test
          verb_compare_test verb_hostile_test verb_overlaps_test verb_sim_test verb_swarm_test)
    if(TARGET ${test})
      add_dependencies(${test} device_lockstep)
    endif()
  endforeach()
  # The library is that of tools/proofs/bench. Without liblwip-dev the device is left out.
  find_path(LOCKSTEP_LWIP_INCLUDE lwip/tcp.h PATH_SUFFIXES lwip)
  find_library(LOCKSTEP_LWIP_LIBRARY lwip)
  if(LOCKSTEP_LWIP_INCLUDE AND LOCKSTEP_LWIP_LIBRARY)
    lockstep_device(lwip lwip/device.cpp "${LOCKSTEP_LWIP_LIBRARY}")
    target_include_directories(device_lwip SYSTEM PRIVATE "${LOCKSTEP_LWIP_INCLUDE}")
    if(TARGET devices_test)
      add_dependencies(devices_test device_lwip)
      add_dependencies(compare_test device_lwip)
    endif()
  endif()
  lockstep_lwip_head(head)
  if(head)
    file(GLOB sources "${head}/core/*.c" "${head}/core/ipv4/*.c" "${head}/core/ipv6/*.c")
    lockstep_device(lwip_head lwip/device.cpp)
    target_sources(device_lwip_head PRIVATE ${sources})
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -w)
    target_compile_definitions(device_lwip_head PRIVATE
      LOCKSTEP_LWIP_HEAD LOCKSTEP_LWIP_NAME="lwip_head")
    target_include_directories(device_lwip_head SYSTEM PRIVATE
      "${PROJECT_SOURCE_DIR}/conformance/devices/lwip_head" "${head}/include")
  endif()
  lockstep_device_of_crate(smoltcp)
  # Without libslirp-dev the device is left out.
  find_path(LOCKSTEP_SLIRP_INCLUDE slirp/libslirp.h)
  find_library(LOCKSTEP_SLIRP_LIBRARY slirp)
  if(LOCKSTEP_SLIRP_INCLUDE AND LOCKSTEP_SLIRP_LIBRARY)
    lockstep_device(libslirp libslirp/device.cpp "${LOCKSTEP_SLIRP_LIBRARY}")
    target_sources(device_libslirp PRIVATE "${folder}/libslirp/network.cpp")
  endif()
  lockstep_device_of_module(gvisor)
  lockstep_device(linux linux/device.cpp lockstep_text)
  target_sources(device_linux PRIVATE "${folder}/linux/guest.cpp")
  if(TARGET script_test)
    add_dependencies(script_test device_linux)
  endif()
  if(TARGET lockstep_ns3 AND NOT LOCKSTEP_SANITIZE)
    lockstep_ns3_modules(modules core network internet)
    lockstep_device(ns3 ns3/device.cpp ${modules})
    target_compile_definitions(device_ns3 PRIVATE
      LOCKSTEP_NS3_VERSION="${LOCKSTEP_NS3_VERSION}")
  endif()
endfunction()
cmake_language(DEFER CALL lockstep_devices)
