# Compiler settings for all of our own code.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)  # a toolchain file may set it
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_STANDARD 11)
if(LOCKSTEP_RUNTIME)
  enable_language(ASM)
endif()

if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release)
endif()

# ccache treats paths in this tree as relative, so that checkouts share compiled files, and accepts
# precompiled headers.
find_program(LOCKSTEP_CCACHE_PROGRAM ccache)
mark_as_advanced(LOCKSTEP_CCACHE_PROGRAM)
if(LOCKSTEP_CCACHE AND LOCKSTEP_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
    CCACHE_NOHASHDIR=1 CCACHE_ABSSTDERR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_PCH_EXTSUM=1 ${LOCKSTEP_CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Linking with lld takes a quarter of the time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT CMAKE_CROSSCOMPILING)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld LOCKSTEP_HAS_LLD)
  if(LOCKSTEP_HAS_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

# Warnings apply to our own sources only: every target below links this, and none exports it.
add_library(lockstep_warnings INTERFACE)
target_compile_options(lockstep_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${LOCKSTEP_WERROR}>>:-Werror>)
# gcc 12 reports overlapping copies in std::string's operator+ that do not exist (its bug 105651),
# and padding of values in a std::variant as uninitialized.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(lockstep_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-maybe-uninitialized>)
endif()

# gcc 12 at -O3 warns about inlined writes that are within bounds.
add_library(lockstep_inlined_writes INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(lockstep_inlined_writes INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow>)
endif()

# core/ and sim/ also run without an unwinder and without type information.
add_library(lockstep_bare INTERFACE)
target_compile_options(lockstep_bare INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)

if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
  if(LOCKSTEP_SANITIZE MATCHES "undefined")
    # vptr checks need RTTI, which core/ and sim/ do not have. The first finding ends the program.
    add_compile_options(-fno-sanitize=vptr -fno-sanitize-recover=all)
    add_link_options(-fno-sanitize=vptr)
  endif()
  if(LOCKSTEP_SANITIZE MATCHES "memory")
    add_compile_options(-fsanitize-memory-track-origins=1)
  endif()
endif()
if(LOCKSTEP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(LOCKSTEP_NO_STDLIB)
  set(LOCKSTEP_TESTS OFF)
  set(LOCKSTEP_TOOLS OFF)
endif()
