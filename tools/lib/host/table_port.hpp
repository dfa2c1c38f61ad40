// The Driver over a table of functions of the caller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/driver.hpp"
#include "core/units/bytes.hpp"
#include "hw/poll/wait.hpp"
#include "tools/lib/host/host.h"

namespace lockstep::tools {

/// Frames are copied into memory that is allocated at construction.
class TablePort {
 public:
  static constexpr std::uint32_t burst_max = 64;
  /// An Ethernet header with an 802.1Q tag.
  static constexpr std::uint32_t link_bytes = 18;

  /// The table is complete (see whole_table()).
  TablePort(const lockstep_driver& table, Bytes mtu);

  Instant now();
  std::span<const Ingress> receive();
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim() {}
  /// Offers the frame that was refused again.
  void flush();

  int descriptor() const { return table_.descriptor == nullptr ? -1 : table_.descriptor(user()); }
  bool holds() const { return pending_bytes_ != 0; }
  bool more() const { return full_; }
  bool down() const { return false; }
  bool gone() const { return false; }
  bool waits() const { return table_.wait != nullptr || descriptor() >= 0; }
  void wait(const hw::WaitFor& what);

 private:
  void* user() const { return table_.user; }
  std::span<std::byte> slot(std::uint32_t index) {
    return std::span(memory_).subspan(std::size_t{index} * slot_bytes_, frame_max_);
  }
  void push();

  lockstep_driver table_;
  std::uint32_t frame_max_;
  std::uint32_t slot_bytes_;
  std::uint32_t pending_bytes_ = 0;  // of a frame in the last slot that was not taken, or 0
  bool full_ = false;                // the last burst was full, so there may be more
  Instant now_;
  std::vector<std::byte> memory_;  // burst_max slots to receive into, and one to send from
  std::array<Ingress, burst_max> burst_{};
};

static_assert(Driver<TablePort>);

}  // namespace lockstep::tools
