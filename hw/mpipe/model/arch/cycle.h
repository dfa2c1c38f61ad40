// The cycle counter and the memory fence of a core.
#pragma once

#include <cstdint>

uint64_t get_cycle_count();
// All stores before it can be seen by the packet engine before any that follows.
void __insn_mf();
