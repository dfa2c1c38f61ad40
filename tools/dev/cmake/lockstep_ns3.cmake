# sim/ns3, the stack on ns-3 nodes, as lockstep::ns3; built only if ns-3 is installed.

include(lockstep_ns3_modules)

# Sets ns3_FOUND. The CMake files of Debian's libns3-dev name programs of the package ns3, and stop
# the configuration if they are missing, so this looks for them first.
macro(lockstep_find_ns3)
  find_file(LOCKSTEP_NS3_CONFIG ns3Config.cmake PATHS ${ns3_DIR}
    PATH_SUFFIXES lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/ns3 lib/cmake/ns3 lib64/cmake/ns3)
  mark_as_advanced(LOCKSTEP_NS3_CONFIG)
  set(ns3_FOUND FALSE)
  if(LOCKSTEP_NS3_CONFIG MATCHES "^/usr/lib/" AND NOT EXISTS "/usr/libexec/ns3")
    message(STATUS "Debian's package ns3 is missing beside libns3-dev")
  elseif(LOCKSTEP_NS3_CONFIG)
    find_package(ns3 CONFIG QUIET)
  endif()
endmacro()

function(lockstep_ns3)
  if(LOCKSTEP_FUZZ OR CMAKE_CROSSCOMPILING
      OR LOCKSTEP_SANITIZE MATCHES "memory|thread")
    return()
  endif()
  lockstep_find_ns3()
  if(NOT ns3_FOUND)
    message(STATUS "ns-3 is not here, so sim/ns3 is left out: tools/setup --with ns3")
    return()
  endif()
  set(LOCKSTEP_NS3_VERSION "${ns3_VERSION}" PARENT_SCOPE)
  lockstep_collect(ns3 sim/ns3)
  lockstep_ns3_modules(modules core network internet traffic-control stats)
  lockstep_library(ns3 SOURCES ${ns3_SOURCES} PUBLIC lockstep_sim ${modules})
  lockstep_ns3_modules(more point-to-point csma wifi mobility applications bridge)
  set(LOCKSTEP_NS3_MORE ${more} PARENT_SCOPE)
  lockstep_test(ns3 SOURCES ${ns3_TESTS} LIBRARIES lockstep_ns3 ${more})
endfunction()
