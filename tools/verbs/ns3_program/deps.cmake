# Built only if ns-3 is installed; the program lockstep does not link it.
set(NEEDS lockstep_ns3)
set(LIBS lockstep_ns3 lockstep_ns3_ports lockstep_output lockstep_process lockstep_text
  ${LOCKSTEP_NS3_MORE})
set(TEST_LIBS lockstep_replay lockstep_suite lockstep_verb_matrix)
# Verbs that also run over ns-3 devices; verbs.hpp declares them.
if(TARGET lockstep_ns3)
  cmake_language(DEFER CALL target_link_libraries program_lockstep_ns3 PRIVATE
    lockstep_verb_conformance lockstep_verb_matrix)
endif()
