// Writes pcapng with nanosecond times and a comment on each packet, byte-identical on all machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/units/time.hpp"

namespace lockstep::tools {

/// Builds a capture of one raw IP interface in memory.
class PcapngWriter {
 public:
  PcapngWriter();
  void add(Instant time, std::span<const std::byte> packet, std::string_view comment);
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace lockstep::tools
