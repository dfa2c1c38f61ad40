# Descriptors, failures as exceptions, JSON, addresses as text.
set(LIBS lockstep_hw lockstep_output lockstep_process lockstep_text)
set(PLAIN ALL)
