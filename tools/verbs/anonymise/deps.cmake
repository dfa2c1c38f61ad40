# anonymise reads captures, judges them with lint and replay, and writes pcapng and JSON.
set(LIBS lockstep_capture lockstep_output lockstep_process lockstep_replay lockstep_sim
         lockstep_text lockstep_verb_lint)
set(OPTIMIZED aliases.cpp anonymise.cpp options.cpp rebuild.cpp rebuild_icmp.cpp secret.cpp)
