# Arrangements on devices, atomic output files, tables and a progress bar.
set(LIBS lockstep_devices lockstep_output lockstep_overlaps lockstep_process)
