// What would keep a driver from working on this machine, and the command that fixes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/verbs/doctor/facts.hpp"

namespace lockstep::tools {

/// The values of `serve --driver`.
enum class DriverKind : unsigned char { packet, xdp, xdp_native, xdp_generic, xdp_zero_copy };

/// fine: passed. note: works, with something to know. breaks: would not work, or not correctly.
enum class Severity : unsigned char { fine, note, breaks };

std::string name_of(Severity severity);

struct Check {
  std::string what;
  Severity severity = Severity::fine;
  std::string found;
  std::string mend;  ///< a command, or what to do; empty if there is nothing to fix
};

struct DoctorQuestion {
  DriverKind driver = DriverKind::packet;
  std::uint32_t mtu = 0;  ///< 0: the interface's MTU
  std::uint32_t shards = 1;
};

/// Runs all checks; always the same ones in the same order.
std::vector<Check> judge(const DoctorFacts& facts, const DoctorQuestion& question);

}  // namespace lockstep::tools
