# Devices and findings about them, atomic output files, tables, a progress bar, and whole times.
set(LIBS lockstep_compare lockstep_devices lockstep_output lockstep_process lockstep_text)
