// On which processors threads run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/trouble.hpp"

namespace lockstep::hw {

// A processor, as the kernel counts them.
struct Cpu {
  std::uint32_t number = 0;
  constexpr bool operator==(const Cpu&) const = default;
};

// "0,2-3" in the order given; each once. Bad input says what is wrong with it.
[[nodiscard]] Trouble parse_cpus(const std::string& text, std::vector<Cpu>& into);

// Those on which this process may run.
std::vector<Cpu> allowed_cpus();

// How many nodes of memory the machine has, as the kernel says; 1 if it does not.
std::uint32_t memory_nodes();

// The calling thread runs there alone from now on. The memory that it touches first lies on that
// processor's node, where the machine has several.
[[nodiscard]] Trouble pin_to(Cpu cpu);

}  // namespace lockstep::hw
