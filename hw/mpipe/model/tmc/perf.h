// The frequency of the cycle counter.
#pragma once

#include <cstdint>

// In cycles a second.
uint64_t tmc_perf_get_cpu_speed();
