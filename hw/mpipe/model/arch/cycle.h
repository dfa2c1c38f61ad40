// The cycle counter and the memory fence of a core.
#pragma once

#include <cstdint>

uint64_t get_cycle_count();
// A compiler for TILE-Gx knows the instruction itself; the model must hear of it there too.
#define __insn_mf lockstep_model_mf
// All stores before it can be seen by the packet engine before any that follows.
void __insn_mf();
