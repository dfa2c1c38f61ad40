// The cycle counter and the memory fence of a core.
#pragma once

#include <cstdint>

uint64_t get_cycle_count();
// A compiler for TILE-Gx has this instruction as a builtin; there too the model must see each use.
#define __insn_mf lockstep_model_mf
// Stores before it become visible to the packet engine before stores after it.
void __insn_mf();
