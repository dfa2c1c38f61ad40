# Values in the notation of world files, and a table.
set(LIBS lockstep_output lockstep_process lockstep_text)
