# CMake toolchain file of TILE-Gx: upstream GCC 12, no C library, the runtime beside this file.
#
# LOCKSTEP_TILEGX, a CMake or environment variable, is the folder that tools/dev/tilegx/build filled
# (bin/tilegx-linux-gnu-g++, bin/qemu-tilegx); the default is build/tilegx-toolchain.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR tilegx)

if(NOT LOCKSTEP_TILEGX AND DEFINED ENV{LOCKSTEP_TILEGX})
  set(LOCKSTEP_TILEGX "$ENV{LOCKSTEP_TILEGX}")
endif()
if(NOT LOCKSTEP_TILEGX)
  get_filename_component(LOCKSTEP_TILEGX
    "${CMAKE_CURRENT_LIST_DIR}/../../build/tilegx-toolchain" ABSOLUTE)
endif()
get_filename_component(LOCKSTEP_TILEGX "${LOCKSTEP_TILEGX}" ABSOLUTE)
set(LOCKSTEP_TILEGX "${LOCKSTEP_TILEGX}" CACHE PATH "Where the TILE-Gx toolchain is")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LOCKSTEP_TILEGX)
if(NOT EXISTS "${LOCKSTEP_TILEGX}/bin/tilegx-linux-gnu-g++")
  message(FATAL_ERROR "no TILE-Gx compiler in ${LOCKSTEP_TILEGX}/bin: run tools/dev/tilegx/build, "
    "or pass -DLOCKSTEP_TILEGX=FOLDER with the folder that it filled")
endif()

set(prefix "${LOCKSTEP_TILEGX}/bin/tilegx-linux-gnu-")
set(CMAKE_C_COMPILER "${prefix}gcc")
set(CMAKE_CXX_COMPILER "${prefix}g++")
set(CMAKE_CROSSCOMPILING_EMULATOR "${LOCKSTEP_TILEGX}/bin/qemu-tilegx")

# There is no C library to link a test program with.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)

# The emulator lacks some vector instructions (and all floating point, which is not used), and GCC
# 12 vectorizes at -O2: without -fno-tree-vectorize programs end with an illegal instruction.
set(flags "-fno-tree-vectorize")
set(CMAKE_C_FLAGS_INIT "${flags}")
set(CMAKE_CXX_FLAGS_INIT "${flags} -fno-threadsafe-statics -D_GLIBCXX_EXTERN_TEMPLATE=0")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib -static")
set(CMAKE_C_STANDARD_LIBRARIES_INIT "-lgcc")

# The runner's replacement for a C library.
set(LOCKSTEP_RUNTIME "${CMAKE_CURRENT_LIST_DIR}/runtime")

set(CMAKE_FIND_ROOT_PATH "${LOCKSTEP_TILEGX}/tilegx-linux-gnu")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
