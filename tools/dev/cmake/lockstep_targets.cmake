# Functions that make libraries, test programs and tools from folders.

# Splits the sources of a folder by their ending into <prefix>_SOURCES, _TESTS, _FUZZERS, _MAINS.
# Options: RECURSE, and EXCLUDE with folders (relative to the top) to leave out.
function(lockstep_collect prefix folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "RECURSE" "" "EXCLUDE")
  set(glob GLOB)
  if(arg_RECURSE)
    set(glob GLOB_RECURSE)
  endif()
  file(${glob} all CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  foreach(skip IN LISTS arg_EXCLUDE)
    list(FILTER all EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${skip}/")
  endforeach()
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(fuzzers ${all})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cpp$")
  set(mains ${all})
  list(FILTER mains INCLUDE REGEX "(/|_)main\\.cpp$")
  list(FILTER all EXCLUDE REGEX "(_test|_fuzz|_main|/main)\\.cpp$")
  set(${prefix}_SOURCES ${all} PARENT_SCOPE)
  set(${prefix}_TESTS ${tests} PARENT_SCOPE)
  set(${prefix}_FUZZERS ${fuzzers} PARENT_SCOPE)
  set(${prefix}_MAINS ${mains} PARENT_SCOPE)
endfunction()

# With LOCKSTEP_JOINED the compiler gets twelve files of the target at a time, and parses their
# headers once. Names in the anonymous namespaces of one library must therefore differ.
function(lockstep_join target)
  get_target_property(type ${target} TYPE)
  if(LOCKSTEP_JOINED AND NOT type STREQUAL "INTERFACE_LIBRARY")
    # At the end, as sources may still be added.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL lockstep_join_sources ${target})")
  endif()
endfunction()

# Replaces the sources of a target by files that include up to twelve of them each. CMake's own
# UNITY_BUILD is not used: its files name sources by absolute paths, so that ccache would know none
# of them in another checkout.
function(lockstep_join_sources target)
  get_target_property(sources ${target} SOURCES)
  set(kept "")
  set(batch "")
  set(number 0)
  foreach(source IN LISTS sources ITEMS end)
    get_source_file_property(apart "${source}" LOCKSTEP_APART)
    if(IS_ABSOLUTE "${source}" AND source MATCHES "\\.cpp$" AND NOT apart)
      file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${source}")
      list(APPEND batch "${path}")
    elseif(NOT source STREQUAL "end")
      list(APPEND kept "${source}")
    endif()
    list(LENGTH batch length)
    if(length EQUAL 12 OR (source STREQUAL "end" AND length GREATER 0))
      list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN batch "" includes)
      set(file "${PROJECT_BINARY_DIR}/joined/${target}_${number}.cpp")
      file(CONFIGURE OUTPUT "${file}" CONTENT "${includes}" @ONLY)
      list(APPEND kept "${file}")
      set(batch "")
      math(EXPR number "${number} + 1")
    endif()
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${kept})
endfunction()

# With LOCKSTEP_JOINED tests are compiled six files at a time, in a third of the time.
function(lockstep_join_tests result name)
  set(sources ${ARGN})
  if(NOT LOCKSTEP_JOINED)
    set(${result} ${sources} PARENT_SCOPE)
    return()
  endif()
  set(joined "")
  set(number 0)
  set(program tools/dev/cmake/join_tests.awk)
  while(sources)
    list(SUBLIST sources 0 6 batch)
    list(REMOVE_ITEM sources ${batch})
    set(file "${PROJECT_BINARY_DIR}/joined/${name}_${number}_test.cpp")
    list(TRANSFORM batch REPLACE "^${PROJECT_SOURCE_DIR}/" "" OUTPUT_VARIABLE paths)
    add_custom_command(OUTPUT "${file}" DEPENDS ${batch} "${PROJECT_SOURCE_DIR}/${program}"
      COMMAND awk -v number=${number} -f ${program} ${paths} > "${file}"
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" VERBATIM)
    list(APPEND joined "${file}")
    math(EXPR number "${number} + 1")
  endwhile()
  set(${result} ${joined} PARENT_SCOPE)
endfunction()

# lockstep_<name>: a static library, or INTERFACE if the folder has only headers. PUBLIC lists its
# dependencies. BARE: without exceptions and RTTI.
function(lockstep_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BARE" "" "SOURCES;PUBLIC")
  set(target lockstep_${name})
  if(TARGET ${target})
    message(FATAL_ERROR "two folders both make the library ${target}: rename one of them")
  endif()
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:lockstep_warnings>)
    if(arg_BARE)
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:lockstep_bare>)
      lockstep_join(${target})
    endif()
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(lockstep::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lockstep>)
  target_link_libraries(${target} ${scope} ${arg_PUBLIC})
endfunction()

# Compiles HEADERS once, with the OPTIONS of the targets that will use them: parsing headers is half
# of the time of compiling most of our files. The target is <name>, and <result> becomes the path
# that lockstep_use_headers takes. PROGRAM: for sources of a program, not of a library.
#
# CMake's own target_precompile_headers is not used: ccache cannot share between checkouts what is
# compiled with its headers.
function(lockstep_precompile result name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "PROGRAM" "" "HEADERS;OPTIONS;LIBRARIES")
  set(folder "${PROJECT_BINARY_DIR}/${name}")
  set(header "${folder}/${name}.hpp")
  set(${result} "${header}" PARENT_SCOPE)
  if(TARGET ${name})
    return()
  endif()
  set(includes "")
  foreach(each IN LISTS arg_HEADERS)
    string(APPEND includes "#include <${each}>\n")
  endforeach()
  if("nlohmann/json.hpp" IN_LIST arg_HEADERS)
    string(APPEND includes "#include <tools/dev/cmake/precompiled/common_uses.hpp>\n")
  endif()
  file(CONFIGURE OUTPUT "${header}" CONTENT "${includes}" @ONLY)
  file(CONFIGURE OUTPUT "${folder}/headers.cpp" CONTENT "${includes}" @ONLY)
  # What is precompiled holds absolute paths, so each checkout makes its own. ccache knows it by the
  # preprocessed text beside it (CCACHE_PCH_EXTSUM), so what is compiled with it is shared.
  foreach(kind IN ITEMS object text)
    add_library(${name}_${kind} OBJECT "${folder}/headers.cpp")
    set_target_properties(${name}_${kind} PROPERTIES CXX_COMPILER_LAUNCHER "")
    if(arg_PROGRAM)
      set_target_properties(${name}_${kind} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${name}_${kind} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
    endif()
    target_include_directories(${name}_${kind} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name}_${kind} PRIVATE lockstep_warnings ${arg_LIBRARIES})
    # A failed CHECK names its file: by its path in the tree, the same in every checkout.
    target_compile_options(${name}_${kind} PRIVATE ${arg_OPTIONS}
      "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
  endforeach()
  target_compile_options(${name}_object PRIVATE
    $<$<CXX_COMPILER_ID:Clang>:-fpch-instantiate-templates>
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>" "SHELL:-x c++-header")
  target_compile_options(${name}_text PRIVATE -E -P)
  add_custom_command(OUTPUT "${header}.gch" "${header}.gch.sum"
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_OBJECTS:${name}_object> "${header}.gch"
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_OBJECTS:${name}_text> "${header}.gch.sum"
    DEPENDS ${name}_object $<TARGET_OBJECTS:${name}_object>
            ${name}_text $<TARGET_OBJECTS:${name}_text> VERBATIM)
  add_custom_target(${name} DEPENDS "${header}.gch" "${header}.gch.sum")
endfunction()

# Lets all sources of a target begin with the header of lockstep_precompile.
function(lockstep_use_headers target name header)
  add_dependencies(${target} ${name})
  target_compile_options(${target} PRIVATE "SHELL:-include ${header}"
    $<$<CXX_COMPILER_ID:GNU>:-Winvalid-pch>)
endfunction()

# How sources are compiled of which no speed is expected. Where nobody looks at their lines in a
# debugger, in the presets release and gcc, those are left out: they take a quarter of the time.
set(LOCKSTEP_PLAIN -O0)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT LOCKSTEP_SANITIZE)
  list(APPEND LOCKSTEP_PLAIN -g0)
endif()

set(LOCKSTEP_STANDARD_HEADERS algorithm array cstdint functional map memory optional span string
  string_view vector)

# The folders of the checkout and of its build, for the tests that read files there. They are in a
# header, so that other tests have the same compiler's command in every checkout.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/test_paths/test_paths.hpp" @ONLY CONTENT
[[#pragma once
#define LOCKSTEP_SOURCE_DIR "@PROJECT_SOURCE_DIR@"
#define LOCKSTEP_BINARY_DIR "@PROJECT_BINARY_DIR@"
]])

# <name>_test from gtest sources, run as one ctest entry that writes its counts to gtest/.
# NO_RTTI: for tests that derive from classes of a library that has no type information.
# HEADERS: what many of these tests include beside gtest. KITS: the same, of this folder alone.
function(lockstep_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_RTTI" "" "SOURCES;LIBRARIES;HEADERS;KITS")
  if(NOT LOCKSTEP_TESTS OR NOT arg_SOURCES)
    return()
  endif()
  find_package(GTest REQUIRED)
  # Optimization takes long, and is not needed: the tested code is optimized.
  set(headers test_headers)
  set(options ${LOCKSTEP_PLAIN})
  if(arg_NO_RTTI)
    set(headers test_headers_no_rtti)
    list(APPEND options -fno-rtti)
  endif()
  set(libraries GTest::gmock)
  if(arg_HEADERS)
    string(PREPEND headers tool_)
    list(APPEND libraries lockstep_third_party)
  endif()
  if(arg_KITS)
    string(PREPEND headers ${name}_)
  endif()
  lockstep_precompile(header ${headers} PROGRAM OPTIONS ${options} LIBRARIES ${libraries}
    HEADERS gmock/gmock.h gtest/gtest.h ${arg_HEADERS} ${LOCKSTEP_STANDARD_HEADERS} ${arg_KITS})
  lockstep_join_tests(sources ${name} ${arg_SOURCES})
  add_executable(${name}_test ${sources})
  lockstep_use_headers(${name}_test ${headers} "${header}")
  # gcc does not list what a precompiled header includes among the dependencies.
  set_source_files_properties(${sources} PROPERTIES OBJECT_DEPENDS "${header}.gch")
  target_link_libraries(${name}_test PRIVATE
    ${arg_LIBRARIES} lockstep_warnings GTest::gmock GTest::gtest_main)
  target_compile_options(${name}_test PRIVATE ${options})
  set_target_properties(${name}_test PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_include_directories(${name}_test PRIVATE "${PROJECT_BINARY_DIR}/test_paths")
  add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 900
    ENVIRONMENT "GTEST_OUTPUT=json:${PROJECT_BINARY_DIR}/gtest/${name}.json")
  if(name MATCHES "^(verb_hostile|stack|verb_ns3_program|sim_nic)$")  # the longest begin first
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()

# Each x_fuzz.cpp becomes the libFuzzer program fuzz/x_fuzz.
function(lockstep_fuzzers)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SOURCES;LIBRARIES")
  if(NOT LOCKSTEP_FUZZ)
    return()
  endif()
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} lockstep_warnings)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)  # all fuzz programs, and only the libraries they need
    endif()
    add_dependencies(fuzzers ${name})
  endforeach()
endfunction()

# Refuses parts without those that they stand on.
function(lockstep_check_parts)
  foreach(needed IN ITEMS LOCKSTEP_SIM LOCKSTEP_HW LOCKSTEP_SOCKETS)
    if(LOCKSTEP_TOOLS AND NOT ${needed})
      message(FATAL_ERROR "LOCKSTEP_TOOLS needs ${needed}: pass -D${needed}=ON, or "
        "-DLOCKSTEP_TOOLS=OFF")
    endif()
  endforeach()
endfunction()

# The layers of core/, lowest first; each links only those below it. lockstep::core links all.
function(lockstep_core)
  set(below "")
  foreach(layer IN LISTS ARGV)
    lockstep_collect(layer core/${layer} RECURSE)
    lockstep_library(${layer} BARE SOURCES ${layer_SOURCES} PUBLIC ${below})
    set(kits "")
    if(layer STREQUAL "stack")
      set(kits core/stack/testing/flow_kit.hpp core/stack/testing/network_kit.hpp)
    endif()
    lockstep_test(${layer} SOURCES ${layer_TESTS} LIBRARIES lockstep_${layer} KITS ${kits})
    lockstep_fuzzers(SOURCES ${layer_FUZZERS} LIBRARIES lockstep_${layer})
    list(APPEND below lockstep_${layer})
  endforeach()
  add_library(lockstep_core INTERFACE)
  add_library(lockstep::core ALIAS lockstep_core)
  set_target_properties(lockstep_core PROPERTIES EXPORT_NAME core)
  target_link_libraries(lockstep_core INTERFACE ${below})
  set(LOCKSTEP_LIBRARIES ${below} lockstep_core PARENT_SCOPE)
endfunction()

# The simulator: one library of all its folders. lockstep_runner builds its runner.
function(lockstep_sim)
  lockstep_collect(sim sim RECURSE EXCLUDE sim/ns3 sim/examples sim/runner)
  lockstep_library(sim BARE SOURCES ${sim_SOURCES} PUBLIC lockstep_core)
  lockstep_test(sim NO_RTTI SOURCES ${sim_TESTS} LIBRARIES lockstep_sim)
  lockstep_fuzzers(SOURCES ${sim_FUZZERS} LIBRARIES lockstep_sim)
endfunction()

# tools/dev/tilegx/segments: the workloads of tools/proofs/bench as a program for any machine;
# tools/dev/tilegx/estimate builds it and counts its instructions.
function(lockstep_segments)
  add_executable(lockstep_segments EXCLUDE_FROM_ALL tools/dev/tilegx/segments/main.cpp
    tools/proofs/bench/bulk.cpp tools/lib/pair/pair.cpp tools/proofs/bench/transactions.cpp)
  target_compile_definitions(lockstep_segments PRIVATE "LOCKSTEP_OWN_TURN=[[gnu::noinline]]")
  target_link_libraries(lockstep_segments PRIVATE lockstep_core lockstep_warnings lockstep_bare)
  set_target_properties(lockstep_segments PROPERTIES OUTPUT_NAME lockstep-segments
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  lockstep_without_stdlib(lockstep_segments)
endfunction()

# sim/runner: a program of core, sim and the mPIPE driver only. With LOCKSTEP_NO_STDLIB it links no
# C++ library, and sim/runner/no_stdlib.cpp defines what the headers still need.
function(lockstep_runner)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sim/runner/*.cpp")
  set(mains ${sources})
  list(FILTER mains INCLUDE REGEX "/main\\.cpp$")
  if(NOT mains)
    return()
  endif()
  list(FILTER sources EXCLUDE REGEX "/no_stdlib\\.cpp$")
  if(LOCKSTEP_MPIPE STREQUAL "kit")
    return()  # its worlds have NICs on the model
  endif()
  # sim does not depend on drivers, so the NICs of the runner's hosts come from tools/.
  file(GLOB nics CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/lib/sim_nic/*_nic.cpp"
    "${PROJECT_SOURCE_DIR}/tools/lib/sim_nic/*_nics.cpp")
  add_executable(lockstep_runner ${sources} ${nics})
  if(LOCKSTEP_TOOLS OR LOCKSTEP_TESTS)
    target_link_libraries(lockstep_runner PRIVATE lockstep_sim)
  else()
    # A build for the runner alone, of which tools/determinism makes many: half of sim is enough.
    lockstep_collect(sim sim RECURSE
      EXCLUDE sim/ns3 sim/examples sim/runner sim/checkers sim/swarm)
    target_sources(lockstep_runner PRIVATE ${sim_SOURCES})
    lockstep_join(lockstep_runner)
  endif()
  target_link_libraries(lockstep_runner PRIVATE
    lockstep_core lockstep_mpipe lockstep_warnings lockstep_bare)
  set_target_properties(lockstep_runner PROPERTIES OUTPUT_NAME lockstep-runner
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  lockstep_without_stdlib(lockstep_runner)
endfunction()

# With LOCKSTEP_NO_STDLIB a program defines its own replacements for a C++ library.
function(lockstep_without_stdlib target)
  if(LOCKSTEP_NO_STDLIB)
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/sim/runner/no_stdlib.cpp")
    # It declares itself what C++ headers declare.
    set_source_files_properties("${PROJECT_SOURCE_DIR}/sim/runner/no_stdlib.cpp" PROPERTIES
      LOCKSTEP_APART ON)
    # The C driver links neither a C++ library nor the part of a sanitizer's runtime that needs one.
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  endif()
  if(LOCKSTEP_RUNTIME)
    lockstep_runtime("${LOCKSTEP_RUNTIME}")
    target_link_libraries(${target} PRIVATE lockstep_runtime)
  endif()
endfunction()

# A program that tests the functions of such a folder.
function(lockstep_memory_check)
  if(LOCKSTEP_RUNTIME)
    add_executable(lockstep_memory_check EXCLUDE_FROM_ALL tools/dev/tilegx/memory_check/main.cpp)
    target_compile_features(lockstep_memory_check PRIVATE cxx_std_20)
    target_link_libraries(lockstep_memory_check PRIVATE lockstep_warnings lockstep_bare)
    target_compile_options(lockstep_memory_check PRIVATE -fno-builtin)
    set_target_properties(lockstep_memory_check PROPERTIES OUTPUT_NAME lockstep-memory-check
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    lockstep_without_stdlib(lockstep_memory_check)
  endif()
endfunction()

# A toolchain file without a C library names a folder that replaces it.
function(lockstep_runtime folder)
  if(TARGET lockstep_runtime)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp" "${folder}/*.S")
  add_library(lockstep_runtime OBJECT ${sources})
  target_compile_features(lockstep_runtime PRIVATE cxx_std_20)
  target_include_directories(lockstep_runtime PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(lockstep_runtime PRIVATE lockstep_warnings lockstep_bare)
  # The compiler must not turn a copying loop into a call of memcpy: this is memcpy.
  target_compile_options(lockstep_runtime PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-ffreestanding -fno-builtin -fno-tree-loop-distribute-patterns>)
endfunction()

# hw/mpipe: with our model of the hardware, or with the vendor's kit. It makes no system calls, so
# it is built wherever sim is.
function(lockstep_mpipe)
  set(left_out "")
  if(LOCKSTEP_MPIPE STREQUAL "kit")
    set(left_out EXCLUDE hw/mpipe/model)
  elseif(NOT LOCKSTEP_MPIPE STREQUAL "model")
    message(FATAL_ERROR "LOCKSTEP_MPIPE is ${LOCKSTEP_MPIPE}: set it to kit or to model")
  endif()
  lockstep_collect(mpipe hw/mpipe RECURSE ${left_out})
  lockstep_library(mpipe BARE SOURCES ${mpipe_SOURCES} PUBLIC lockstep_core)
  if(LOCKSTEP_MPIPE STREQUAL "kit")
    if(LOCKSTEP_TOOLS OR LOCKSTEP_TESTS)
      message(FATAL_ERROR "tools and tests stand on the model: with LOCKSTEP_MPIPE=kit pass "
        "-DLOCKSTEP_TOOLS=OFF -DLOCKSTEP_TESTS=OFF")
    endif()
    target_compile_definitions(lockstep_mpipe PUBLIC LOCKSTEP_MPIPE_KIT)
    target_link_libraries(lockstep_mpipe PUBLIC gxio tmc pthread)
  endif()
  lockstep_test(mpipe NO_RTTI SOURCES ${mpipe_TESTS} LIBRARIES lockstep_mpipe)
endfunction()

# The other drivers: one library of all their folders.
function(lockstep_hw)
  lockstep_collect(hw hw RECURSE EXCLUDE hw/mpipe)
  lockstep_library(hw SOURCES ${hw_SOURCES} PUBLIC lockstep_core)
  lockstep_join(lockstep_hw)
  lockstep_test(hw SOURCES ${hw_TESTS} LIBRARIES lockstep_hw)
endfunction()

# Reads a folder's optional deps.cmake, which sets LIBS: libraries of ours (lockstep_replay) or of
# others (pcap) that the folder's own files include; TEST_LIBS: further ones that its tests include;
# NEEDS: a target without which the folder is left out; CORE_ALONE: the library is installed, and
# links only core and the third-party libraries that it lists; NO_RTTI: a source derives from a
# class of sim, which is compiled without type information, and sets that option itself; OPTIMIZED:
# sources of a verb, or programs, that hold a loop whose time matters (see lockstep_plain); PLAIN:
# sources of another folder, or ALL, that hold none; APART: names of its files clash, so they
# are not compiled together (see lockstep_join).
macro(lockstep_read_deps folder)
  set(LIBS "")
  set(TEST_LIBS "")
  set(NEEDS "")
  set(CORE_ALONE OFF)
  set(NO_RTTI OFF)
  set(APART OFF)
  set(OPTIMIZED "")
  set(PLAIN "")
  if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/deps.cmake")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
      "${PROJECT_SOURCE_DIR}/${folder}/deps.cmake")
    include("${PROJECT_SOURCE_DIR}/${folder}/deps.cmake")
    list(TRANSFORM OPTIMIZED PREPEND "${PROJECT_SOURCE_DIR}/${folder}/")
    list(TRANSFORM PLAIN PREPEND "${PROJECT_SOURCE_DIR}/${folder}/")
    if(LOCKSTEP_PLAIN_VERBS)
      set(OPTIMIZED "")
    endif()
  endif()
endmacro()

# The name of a folder's library without lockstep_, and of its test: verb_load for tools/verbs/load,
# load for tools/lib/load.
function(lockstep_name_of result folder)
  get_filename_component(name "${folder}" NAME)
  if(folder MATCHES "^tools/verbs/")
    set(name verb_${name})
  endif()
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# Sources that run a few times in a process, such as those that read its command line, are compiled
# without optimization, with a precompiled header of what they all include: optimizing them takes
# longer than all the rest.
function(lockstep_plain target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  if(NOT arg_SOURCES)
    return()
  endif()
  set(name verb_headers)
  lockstep_precompile(header ${name} OPTIONS ${LOCKSTEP_PLAIN} LIBRARIES lockstep_third_party
    HEADERS CLI/CLI.hpp fmt/format.h nlohmann/json.hpp ${LOCKSTEP_STANDARD_HEADERS})
  get_target_property(rest ${target} SOURCES)
  list(REMOVE_ITEM rest ${arg_SOURCES})
  if(rest)
    # A target of their own, as CMake joins only files of one target with the same options.
    add_library(${target}_plain OBJECT ${arg_SOURCES})
    target_compile_features(${target}_plain PRIVATE cxx_std_20)
    target_include_directories(${target}_plain PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target}_plain PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
    set_property(TARGET ${target} PROPERTY SOURCES ${rest})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_plain>)
    if(NOT APART)
      lockstep_join(${target}_plain)
    endif()
    string(APPEND target _plain)
  endif()
  lockstep_use_headers(${target} ${name} "${header}")
  target_compile_options(${target} PRIVATE ${LOCKSTEP_PLAIN})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_compile_options(${target} PRIVATE -fPIC)  # as the header is
  endif()
endfunction()

# Plain sources, or precompiled headers, for the library of a folder. gcc 12 gets such headers where
# it does not optimize: else they make it report overflows in std::string that do not exist (its bug
# 105651).
function(lockstep_tool_headers target folder)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(plain ${PLAIN})
  if(folder MATCHES "^tools/verbs/" OR "${PROJECT_SOURCE_DIR}/${folder}/ALL" IN_LIST PLAIN)
    set(plain ${sources})
    list(REMOVE_ITEM plain ${OPTIMIZED})
  endif()
  lockstep_plain(${target} SOURCES ${plain})
  list(REMOVE_ITEM sources ${plain})
  if(sources AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT CORE_ALONE AND NOT NO_RTTI
      AND folder MATCHES "^conformance/|^tools/(lib|proofs|verbs)/")
    lockstep_precompile(header tool_headers LIBRARIES lockstep_third_party
      HEADERS fmt/format.h nlohmann/json.hpp ${LOCKSTEP_STANDARD_HEADERS})
    lockstep_use_headers(${target} tool_headers "${header}")
  endif()
endfunction()

# The libraries of the verbs that LOCKSTEP_VERBS lists, or of all; for the others a source that
# refuses each by name.
function(lockstep_choose_verbs libraries source)
  get_property(every GLOBAL PROPERTY LOCKSTEP_EVERY_VERB)
  set(chosen ${LOCKSTEP_VERBS})
  if(NOT chosen)
    set(chosen ${every})
  endif()
  foreach(verb IN LISTS chosen)
    if(NOT verb IN_LIST every)
      list(JOIN every ", " names)
      message(FATAL_ERROR "LOCKSTEP_VERBS: there is no verb '${verb}': choose among ${names}")
    endif()
  endforeach()
  set(${source} "" PARENT_SCOPE)
  set(refused "")
  foreach(verb IN LISTS every)
    if(NOT verb IN_LIST chosen)
      string(APPEND refused
        "void register_${verb}(CLI::App& app, int&) { leave_out(app, \"${verb}\"); }\n")
    endif()
  endforeach()
  if(refused)
    set(file "${PROJECT_BINARY_DIR}/left_out_verbs.cpp")
    file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [[
// Made by the build from LOCKSTEP_VERBS.
#include "tools/verbs/cli/left_out.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
@refused@}
]])
    set(${source} "${file}" PARENT_SCOPE)
  endif()
  list(TRANSFORM chosen PREPEND lockstep_verb_)
  set(${libraries} "${chosen}" PARENT_SCOPE)
endfunction()

# One folder of tools/ or conformance/: its library, its tests, its programs. x_main.cpp makes the
# program x; main.cpp makes lockstep (tools/verbs/cli) or lockstep-<folder>.
function(lockstep_tool folder)
  lockstep_name_of(name ${folder})
  lockstep_collect(tool ${folder})
  lockstep_read_deps(${folder})
  if(NEEDS AND NOT TARGET ${NEEDS})
    return()
  endif()
  if(folder STREQUAL "tools/verbs/cli")
    lockstep_choose_verbs(chosen left_out)
    list(APPEND LIBS ${chosen})
    list(APPEND tool_SOURCES ${left_out})
  endif()
  if(NOT CORE_ALONE)
    list(APPEND LIBS lockstep_third_party)
  endif()
  lockstep_library(${name} SOURCES ${tool_SOURCES} PUBLIC lockstep_core ${LIBS})
  # The optimized files of a verb are its longest ones: joined, they would leave a processor idle.
  if(NOT APART AND (NOT OPTIMIZED OR LOCKSTEP_PLAIN_VERBS))
    lockstep_join(lockstep_${name})
  endif()
  lockstep_tool_headers(lockstep_${name} ${folder})
  if(CORE_ALONE AND tool_SOURCES)
    target_link_libraries(lockstep_${name} PRIVATE $<BUILD_INTERFACE:lockstep_inlined_writes>)
  endif()
  lockstep_test(${name} SOURCES ${tool_TESTS} HEADERS fmt/format.h nlohmann/json.hpp
    LIBRARIES lockstep_${name} ${TEST_LIBS} lockstep_third_party)
  lockstep_fuzzers(SOURCES ${tool_FUZZERS} LIBRARIES lockstep_${name} lockstep_third_party)
  foreach(source IN LISTS tool_MAINS)
    get_filename_component(program "${source}" NAME_WE)
    string(REGEX REPLACE "_?main$" "" program "${program}")
    if(program STREQUAL "")
      set(program lockstep)
    endif()
    add_executable(program_${program} ${source})
    target_link_libraries(program_${program} PRIVATE lockstep_${name} lockstep_warnings)
    if(folder MATCHES "^tools/" AND NOT source IN_LIST OPTIMIZED)
      lockstep_plain(program_${program} SOURCES ${source})
    endif()
    set_target_properties(program_${program} PROPERTIES OUTPUT_NAME ${program}
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  endforeach()
  if(folder MATCHES "^tools/verbs/" AND NOT NEEDS)
    get_filename_component(verb "${folder}" NAME)
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_EVERY_VERB ${verb})
  endif()
endfunction()

# Libraries that all tools can use; core/ and sim/ do not link them.
function(lockstep_find_third_party)
  foreach(package IN ITEMS fmt CLI11 nlohmann_json tomlplusplus)
    find_package(${package} QUIET)
    if(NOT ${package}_FOUND)
      message(FATAL_ERROR "${package} is missing: run tools/setup, or pass -DLOCKSTEP_TOOLS=OFF")
    endif()
  endforeach()
  add_library(lockstep_third_party INTERFACE)
  # A wheel contains fmt, because it may be missing where the wheel is installed.
  target_link_libraries(lockstep_third_party INTERFACE
    $<IF:$<BOOL:${SKBUILD}>,fmt::fmt-header-only,fmt::fmt>
    CLI11::CLI11 nlohmann_json::nlohmann_json)
  add_library(lockstep_json STATIC tools/dev/cmake/precompiled/json_members.cpp)
  target_link_libraries(lockstep_json PRIVATE nlohmann_json::nlohmann_json)
  target_link_libraries(lockstep_third_party INTERFACE lockstep_inlined_writes lockstep_json)
endfunction()

# The sockets and the hosts alone, without the libraries of others that tools/ needs.
function(lockstep_sockets)
  set(folders tools/lib/pair tools/lib/sockets)
  if(LOCKSTEP_HW)
    list(APPEND folders tools/base/parse tools/lib/host)
  endif()
  # The tests use what LOCKSTEP_TOOLS finds.
  set(LOCKSTEP_TESTS OFF)
  foreach(folder IN LISTS folders)
    lockstep_tool(${folder})
  endforeach()
endfunction()

# All folders with C++ of the named parents; tools/verbs/cli last, because it links all other verbs.
function(lockstep_tools)
  lockstep_find_third_party()
  set(folders "")
  foreach(parent IN LISTS ARGV)
    file(GLOB found CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
      "${PROJECT_SOURCE_DIR}/${parent}/*/*.cpp" "${PROJECT_SOURCE_DIR}/${parent}/*/*.hpp")
    foreach(file IN LISTS found)
      get_filename_component(folder "${file}" DIRECTORY)
      list(APPEND folders ${folder})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(REMOVE_ITEM folders tools/verbs/cli)
  foreach(folder IN LISTS folders)
    lockstep_tool(${folder})
  endforeach()
  lockstep_tool(tools/python)
  lockstep_tool(tools/verbs/cli)
endfunction()
