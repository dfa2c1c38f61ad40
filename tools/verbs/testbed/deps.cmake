# Tables and the progress bar, options from files, numbers with units and addresses as text.
set(LIBS lockstep_hw lockstep_options lockstep_output lockstep_process lockstep_text)
