# Failures as exceptions; frames as pcapng.
set(LIBS lockstep_process lockstep_sim)
