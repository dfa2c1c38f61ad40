// Writes pcapng with nanosecond stamps and a comment on each packet, the same bytes everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units/time.hpp"

namespace lockstep::tools {

/// Collects a capture of one interface of raw IP packets in memory and writes it in one go, so
/// that nothing half written is left behind.
class PcapngWriter {
 public:
  PcapngWriter();
  void add(Instant time, std::span<const std::byte> packet, std::string_view comment);
  /// Throws Failure (environment) where the file cannot be written.
  void save(const std::string& path) const;
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Writes a whole file through a temporary one beside it. Throws Failure (environment).
void save_file(const std::string& path, std::span<const std::byte> bytes);
void save_file(const std::string& path, std::string_view text);

}  // namespace lockstep::tools
