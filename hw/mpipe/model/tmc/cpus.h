// Cores: those that the system leaves to programs, and on which a thread runs.
#pragma once

#include <cstdint>

// Stands for cpu_set_t, which the system's own headers have.
typedef struct {
  uint64_t words[1];
} lockstep_model_cpus_t;

int tmc_cpus_get_dataplane_cpus(lockstep_model_cpus_t* cpus);
int tmc_cpus_count(const lockstep_model_cpus_t* cpus);
// The one with so many before it, or -1.
int tmc_cpus_find_nth_cpu(const lockstep_model_cpus_t* cpus, unsigned n);
// The calling thread runs on this one only.
int tmc_cpus_set_my_cpu(int cpu);
