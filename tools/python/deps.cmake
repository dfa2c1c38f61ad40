# The Python module `lockstep`. The part without Python is an ordinary library; the module itself is
# built if Python's headers and nanobind are found.
set(LIBS lockstep_calls lockstep_controllers lockstep_process lockstep_sim lockstep_sim_apps
  lockstep_sim_nic lockstep_sim_report lockstep_sockets lockstep_text lockstep_world_file)
include(python)
cmake_language(DEFER CALL lockstep_python_module)
set(APART ON)
