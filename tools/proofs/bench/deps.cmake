# The journal is linked because its cost is measured.
set(LIBS lockstep_http lockstep_hw lockstep_journal lockstep_pair)
# They hold the loops that are measured.
set(OPTIMIZED bench_epoll_main.cpp bench_lwip_main.cpp)
# lwIP, with which we compare, is linked only into the program that runs it. Without liblwip-dev
# that program reports that lwIP is missing.
find_path(LOCKSTEP_LWIP_INCLUDE lwip/tcp.h PATH_SUFFIXES lwip)
find_library(LOCKSTEP_LWIP_LIBRARY lwip)
mark_as_advanced(LOCKSTEP_LWIP_INCLUDE LOCKSTEP_LWIP_LIBRARY)
if(LOCKSTEP_LWIP_INCLUDE AND LOCKSTEP_LWIP_LIBRARY)
  cmake_language(DEFER CALL target_include_directories program_bench_lwip SYSTEM PRIVATE
    "${LOCKSTEP_LWIP_INCLUDE}")
  cmake_language(DEFER CALL target_link_libraries program_bench_lwip PRIVATE
    "${LOCKSTEP_LWIP_LIBRARY}")
endif()
set(APART ON)
