# What is installed: headers, libraries, find_package(lockstep), pkg-config, and the program. Not if
# Lockstep is part of another build, nor for the runner without a standard library.
if(NOT PROJECT_IS_TOP_LEVEL OR LOCKSTEP_NO_STDLIB)
  return()
endif()
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lockstep")

# Nothing is installed if something is not built, as after tools/quickstart, which builds the
# program alone. lockstep_installed_targets() writes the list.
install(CODE "
  file(STRINGS \"${PROJECT_BINARY_DIR}/package/installed.txt\" files)
  foreach(file IN LISTS files)
    if(NOT EXISTS \"\${file}\")
      message(FATAL_ERROR \"\${file} is not built: run 'cmake --build ${PROJECT_BINARY_DIR} \"
        \"--target installed', then install again\")
    endif()
  endforeach()")
function(lockstep_installed_targets)
  set(targets "")
  set(files "")
  foreach(target IN LISTS installed_libraries ITEMS lockstep_ns3 lockstep_ns3_http lockstep_load
          lockstep_http program_lockstep program_lockstep_ns3 packetdrill_so)
    if(TARGET ${target})
      get_target_property(type ${target} TYPE)
      list(APPEND targets ${target})
      if(NOT type STREQUAL "INTERFACE_LIBRARY")
        list(APPEND files "$<TARGET_FILE:${target}>")
      endif()
    endif()
  endforeach()
  if(TARGET manuals)
    list(APPEND targets manuals)
    list(APPEND files "${PROJECT_BINARY_DIR}/package/manuals/man")
  endif()
  list(JOIN files "\n" lines)
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/package/installed.txt" CONTENT "${lines}\n")
  add_custom_target(installed DEPENDS ${targets})
endfunction()
cmake_language(DEFER CALL lockstep_installed_targets)

# BSD sockets for C and C++: core alone, and the pair in memory, with which programs can be tried;
# and with the drivers, hosts for C.
set(installed_sockets "")
set(installed_host "")
if(TARGET lockstep_sockets)
  set(installed_sockets lockstep_pair lockstep_sockets)
  foreach(folder IN ITEMS pair sockets)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/lib/${folder}"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lockstep/tools/lib"
      FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*_kit.hpp" EXCLUDE)
  endforeach()
endif()
if(TARGET lockstep_host)
  set(installed_host lockstep_hw lockstep_parse lockstep_host)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/lib/host/host.h"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lockstep/tools/lib/host")
endif()
set(installed_libraries ${LOCKSTEP_LIBRARIES} ${installed_sockets} ${installed_host})
foreach(part IN ITEMS lockstep_sim lockstep_hw)
  if(TARGET ${part})
    list(APPEND installed_libraries ${part})
  endif()
endforeach()
list(REMOVE_DUPLICATES installed_libraries)
install(TARGETS ${installed_libraries}
  EXPORT lockstepTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT lockstepTargets NAMESPACE lockstep:: DESTINATION "${package_dir}")
foreach(module IN ITEMS core sim hw)
  if(TARGET lockstep_${module})
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${module}"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lockstep"
      FILES_MATCHING PATTERN "*.hpp" PATTERN "controller.h"
      PATTERN "*_kit.hpp" EXCLUDE PATTERN "*_testing.hpp" EXCLUDE
      PATTERN "ns3" EXCLUDE PATTERN "runner" EXCLUDE PATTERN "examples" EXCLUDE
      PATTERN "mpipe" EXCLUDE)
  endif()
endforeach()
# The component ns3 has its own targets file, because it needs ns-3 to be found first.
if(TARGET lockstep_ns3)
  install(TARGETS lockstep_ns3 EXPORT lockstepNs3Targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT lockstepNs3Targets NAMESPACE lockstep:: DESTINATION "${package_dir}")
  install(FILES "${PROJECT_SOURCE_DIR}/tools/dev/cmake/lockstep_ns3_modules.cmake"
    DESTINATION "${package_dir}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/sim/ns3"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lockstep/sim"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*_kit.hpp" EXCLUDE)
endif()
# Its web server and load: archives of tools/, which lockstepConfig.cmake offers as
# lockstep::ns3_http.
if(TARGET lockstep_ns3_http)
  install(TARGETS lockstep_ns3_http lockstep_load lockstep_http
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  foreach(folder IN ITEMS http load ns3_http)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/lib/${folder}"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lockstep/tools/lib"
      FILES_MATCHING PATTERN "*.hpp" PATTERN "*_kit.hpp" EXCLUDE)
  endforeach()
endif()
if(TARGET program_lockstep_ns3)
  install(TARGETS program_lockstep_ns3 RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(TARGET program_lockstep)
  install(TARGETS program_lockstep RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  # The manual page and shell completions, which the program prints.
  set(manuals "${PROJECT_BINARY_DIR}/package/manuals")
  file(MAKE_DIRECTORY "${manuals}")
  foreach(kind IN ITEMS man bash zsh fish)
    add_custom_command(OUTPUT "${manuals}/${kind}" DEPENDS program_lockstep VERBATIM
      COMMAND program_lockstep --print-for ${kind} > "${manuals}/${kind}")
  endforeach()
  add_custom_target(manuals ALL DEPENDS
    "${manuals}/man" "${manuals}/bash" "${manuals}/zsh" "${manuals}/fish")
  install(FILES "${manuals}/man" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" RENAME lockstep.1)
  install(FILES "${manuals}/bash" RENAME lockstep
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${manuals}/zsh" RENAME _lockstep
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${manuals}/fish" RENAME lockstep.fish
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
  # The unit for systemd, which names the program, and what to add to it. The prefix is known only
  # while it is installed.
  install(CODE "
    file(READ \"${PROJECT_SOURCE_DIR}/tools/verbs/serve/systemd/lockstep.service\" unit)
    get_filename_component(program \"${CMAKE_INSTALL_BINDIR}/lockstep\" ABSOLUTE
      BASE_DIR \"\${CMAKE_INSTALL_PREFIX}\")
    string(REPLACE /usr/bin/lockstep \"\${program}\" unit \"\${unit}\")
    set(unit_file \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/lockstep.service\")
    message(STATUS \"Installing: \$ENV{DESTDIR}\${unit_file}\")
    file(WRITE \"\$ENV{DESTDIR}\${unit_file}\" \"\${unit}\")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${unit_file}\")")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/verbs/serve/systemd"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.conf")
  # The sentences of clauses.
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/conformance/requirements"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/lockstep/conformance" FILES_MATCHING PATTERN "*.toml"
    PATTERN "mutations.toml" EXCLUDE PATTERN "corrections.toml" EXCLUDE)
  # The verbs that are written in Python.
  install(DIRECTORY
    "${PROJECT_SOURCE_DIR}/tools/verbs/sweep" "${PROJECT_SOURCE_DIR}/tools/verbs/plot"
    "${PROJECT_SOURCE_DIR}/tools/verbs/paper"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/lockstep/tools/verbs" FILES_MATCHING PATTERN "*.py"
    PATTERN "paper/worlds/*" PATTERN "test_*" EXCLUDE PATTERN "__pycache__" EXCLUDE)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/tools/dev/packaging/lockstepConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/package/lockstepConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/lockstepConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/lockstepConfig.cmake"
  "${PROJECT_BINARY_DIR}/package/lockstepConfigVersion.cmake" DESTINATION "${package_dir}")

# Installs <name>.pc, which names the archives among TARGETS, highest layer first. C: for C programs
# too. The file is written at installation, because only then is the prefix of `cmake --install
# --prefix` known.
function(lockstep_pkg_config name description requires)
  cmake_parse_arguments(PARSE_ARGV 3 arg "C" "" "TARGETS")
  set(PC_NAME ${name})
  set(PC_DESCRIPTION "${description}")
  set(PC_REQUIRES "${requires}")
  set(PC_LIBS "")
  set(PC_CFLAGS -std=c++20)
  foreach(target IN LISTS arg_TARGETS)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      set(PC_LIBS "-l${target} ${PC_LIBS}")
    endif()
  endforeach()
  if(arg_C)
    set(PC_CFLAGS "")
    string(APPEND PC_LIBS "-lstdc++")
  endif()
  set(CMAKE_INSTALL_PREFIX "@CMAKE_INSTALL_PREFIX@")
  configure_file("${PROJECT_SOURCE_DIR}/tools/dev/packaging/lockstep.pc.in"
    "${PROJECT_BINARY_DIR}/package/${name}.pc.in" @ONLY)
  install(CODE "configure_file(\"${PROJECT_BINARY_DIR}/package/${name}.pc.in\"
    \"${PROJECT_BINARY_DIR}/package/${name}.pc\" @ONLY)")
  install(FILES "${PROJECT_BINARY_DIR}/package/${name}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

lockstep_pkg_config(lockstep "${PROJECT_DESCRIPTION}" "" TARGETS ${LOCKSTEP_LIBRARIES})
if(TARGET lockstep_sim)
  lockstep_pkg_config(lockstep-sim "The deterministic simulator of Lockstep" lockstep
    TARGETS lockstep_sim)
endif()
if(TARGET lockstep_hw)
  lockstep_pkg_config(lockstep-hw "Drivers of Linux interfaces for Lockstep" lockstep
    TARGETS lockstep_hw)
endif()
if(installed_sockets)
  lockstep_pkg_config(lockstep-sockets "BSD's sockets over Lockstep's stack, for C and C++" ""
    C TARGETS ${LOCKSTEP_LIBRARIES} ${installed_sockets})
endif()
if(installed_host)
  lockstep_pkg_config(lockstep-host "Lockstep's stack on an interface or a driver, for C" ""
    C TARGETS ${LOCKSTEP_LIBRARIES} ${installed_sockets} ${installed_host})
endif()
