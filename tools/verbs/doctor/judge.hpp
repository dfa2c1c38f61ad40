// What on a machine would break a driver, and the command that mends it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/verbs/doctor/facts.hpp"

namespace lockstep::tools {

/// Of `serve --driver`.
enum class DriverKind : unsigned char { packet, xdp, xdp_native, xdp_generic, xdp_zero_copy };

/// fine. note: it works, and this is good to know. breaks: it would not work, or not rightly.
enum class Severity : unsigned char { fine, note, breaks };

std::string name_of(Severity severity);

struct Check {
  std::string what;
  Severity severity = Severity::fine;
  std::string found;
  std::string mend;  ///< a command, or what to do; empty where nothing is to be mended
};

struct DoctorQuestion {
  DriverKind driver = DriverKind::packet;
  std::uint32_t mtu = 0;  ///< 0: the interface's own
  std::uint32_t shards = 1;
};

/// One check a line, always the same ones in the same order.
std::vector<Check> judge(const DoctorFacts& facts, const DoctorQuestion& question);

}  // namespace lockstep::tools
