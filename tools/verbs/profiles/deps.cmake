# Values in the notation of world files, and a table.
set(LIBS lockstep_output lockstep_process lockstep_text)

# The reasons for the values are the table of core/stack/README.md, compiled in.
function(lockstep_profile_reasons)
  set(table "${PROJECT_SOURCE_DIR}/core/stack/README.md")
  set(folder "${PROJECT_BINARY_DIR}/profile_reasons")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${table}")
  file(READ "${table}" text)
  file(GENERATE OUTPUT "${folder}/profile_reasons.inc"
    CONTENT "R\"~reasons~(${text})~reasons~\"\n")
  target_include_directories(lockstep_verb_profiles PRIVATE "${folder}")
endfunction()
cmake_language(DEFER CALL lockstep_profile_reasons)
