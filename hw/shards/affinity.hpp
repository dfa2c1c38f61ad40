// Binds threads to processors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/trouble.hpp"

namespace lockstep::hw {

// A processor, by the kernel's number.
struct Cpu {
  std::uint32_t number = 0;
  constexpr bool operator==(const Cpu&) const = default;
};

// Parses "0,2-3" in the given order, each once. On bad input returns what is wrong.
[[nodiscard]] Trouble parse_cpus(const std::string& text, std::vector<Cpu>& into);

// The processors on which this process may run.
std::vector<Cpu> allowed_cpus();

// The number of NUMA nodes, as the kernel reports it; 1 if it does not.
std::uint32_t memory_nodes();

// Binds the calling thread to the processor. Memory that it touches first is then allocated on the
// processor's NUMA node.
[[nodiscard]] Trouble pin_to(Cpu cpu);

}  // namespace lockstep::hw
