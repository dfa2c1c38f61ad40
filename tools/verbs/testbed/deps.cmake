# Tables and the progress bar, numbers with units and addresses as text.
set(LIBS lockstep_hw lockstep_output lockstep_process lockstep_text)
