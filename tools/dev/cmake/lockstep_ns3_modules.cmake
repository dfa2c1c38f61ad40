# The targets of ns-3's modules by name, for our build and for users of the component ns3.

# Sets <out> to the targets, which Debian's ns-3.37 names ns3::libcore and 3.44 names ns3::core.
function(lockstep_ns3_modules out)
  set(found "")
  foreach(module IN LISTS ARGN)
    if(TARGET ns3::lib${module})
      list(APPEND found ns3::lib${module})
    elseif(TARGET ns3::${module})
      list(APPEND found ns3::${module})
    else()
      message(FATAL_ERROR "this ns-3 has no module '${module}': run tools/setup --with ns3")
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
