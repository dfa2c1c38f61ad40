// How fast the cycle counter runs.
#pragma once

#include <cstdint>

// Cycles a second.
uint64_t tmc_perf_get_cpu_speed();
