// The Driver for turns in ns-3: takes the frames that a device received and sends through it.
#pragma once

#include <ns3/simulator.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/driver.hpp"
#include "core/wire/checksum.hpp"
#include "sim/ns3/stack.hpp"

namespace ns3 {

/// Used by the stack's own turns, or by a borrower's (LendPort()).
class LockstepStack::Port {
 public:
  static constexpr std::uint32_t burst_max = 256;
  static constexpr std::uint32_t ethernet_header = 14;

  static lockstep::Instant Clock() {
    return {static_cast<std::uint64_t>(Simulator::Now().GetNanoSeconds())};
  }

  explicit Port(LockstepStack& owner) : owner_(owner) {
    room_.resize(owner.config_.mtu.count + ethernet_header);
  }

  /// Received frames.
  std::uint32_t waiting() const { return owner_.waiting_count_; }

  lockstep::Instant now() const { return Clock(); }

  std::span<const lockstep::Ingress> receive() {
    lent_ = owner_.waiting_count_;
    for (std::uint32_t i = 0; i < lent_; ++i) {
      Waiting const& each = owner_.waiting_[i];
      burst_[i] = {std::span(each.bytes).first(each.length), lockstep::Checksum::unknown, Clock()};
    }
    return std::span(burst_).first(lent_);
  }

  std::span<std::byte> claim() {
    return owner_.IsStopped() ? std::span<std::byte>{} : std::span<std::byte>(room_);
  }

  void commit(const lockstep::Egress& egress) {
    auto const frame = std::span(room_).first(egress.length);
    if (egress.checksum_offset != 0) {
      CompleteChecksum(frame, egress);
    }
    owner_.Transmit(frame);
  }

  void reclaim() {
    owner_.NoteDrops(lent_);
    // Frames that arrived during the turn, from a device that delivers at once, wait for the next
    // one.
    auto const begin = owner_.waiting_.begin();
    std::rotate(begin, begin + lent_, begin + owner_.waiting_count_);
    owner_.waiting_count_ -= lent_;
    lent_ = 0;
  }

  void flush() {}

 private:
  // Checksum offload as a NIC does it: the field holds the sum of the pseudo-header.
  static void CompleteChecksum(std::span<std::byte> frame, const lockstep::Egress& egress) {
    auto const segment = frame.subspan(egress.checksum_start);
    std::uint16_t const checksum = lockstep::wire::sum(segment).checksum();
    segment[egress.checksum_offset] = static_cast<std::byte>(checksum >> 8);
    segment[egress.checksum_offset + std::size_t{1}] = static_cast<std::byte>(checksum & 0xff);
  }

  LockstepStack& owner_;
  std::vector<std::byte> room_;
  std::uint32_t lent_ = 0;
  std::array<lockstep::Ingress, burst_max> burst_{};
};

}  // namespace ns3
