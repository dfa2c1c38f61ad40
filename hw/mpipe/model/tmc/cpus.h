// Cores: those available to programs, and binding of a thread to one.
#pragma once

#include <cstdint>

// Replaces cpu_set_t of the system's own headers.
typedef struct {
  uint64_t words[1];
} lockstep_model_cpus_t;

int tmc_cpus_get_dataplane_cpus(lockstep_model_cpus_t* cpus);
int tmc_cpus_count(const lockstep_model_cpus_t* cpus);
// The core with `n` others before it in the set, or -1.
int tmc_cpus_find_nth_cpu(const lockstep_model_cpus_t* cpus, unsigned n);
// Binds the calling thread to this core.
int tmc_cpus_set_my_cpu(int cpu);
