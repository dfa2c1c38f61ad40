# Devices, the simulator's writer of segments, and names of addresses.
set(LIBS lockstep_devices lockstep_sim lockstep_text)
