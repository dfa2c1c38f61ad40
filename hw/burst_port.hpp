// The common part of ports over a Linux descriptor: shape, clock, burst.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/stack/driver.hpp"
#include "core/units/bytes.hpp"
#include "core/units/check.hpp"
#include "hw/link_mtu.hpp"
#include "hw/poll/clock.hpp"
#include "hw/port_counters.hpp"

namespace lockstep::hw {

struct PortShape {
  Bytes mtu{1500};
  Count burst_frames{64};   // at most BurstPort::burst_max
  std::string interface{};  // whose MTU is followed; empty: it stays `mtu`
};

class BurstPort {
 public:
  static constexpr std::uint32_t burst_max = 256;
  // An Ethernet header with an 802.1Q tag.
  static constexpr std::uint32_t link_bytes = 18;

  BurstPort(const BurstPort&) = delete;
  BurstPort& operator=(const BurstPort&) = delete;

  Instant now() {
    now_ = clock_.now();
    return now_;
  }
  // The link's MTU now; the kernel is asked once a second.
  Bytes link_mtu() { return link_mtu_.look(now_); }
  // The interface was deleted: no frame can arrive or leave any more.
  bool gone() const { return gone_; }

 protected:
  // CHECKs 1 <= burst_frames <= burst_max.
  explicit BurstPort(const PortShape& shape)
      : frame_max_(shape.mtu.count + link_bytes),
        burst_frames_(shape.burst_frames.value),
        link_mtu_(shape.interface, shape.mtu) {
    CHECK(burst_frames_ >= 1);
    CHECK(burst_frames_ <= burst_max);
  }
  ~BurstPort() = default;

  Instant now_ = MonotonicClock::first();  // the time of the last call of now()
  std::uint32_t frame_max_;
  std::uint32_t burst_frames_;
  std::uint32_t taken_ = 0;  // frames of the current receive()
  bool gone_ = false;
  PortCounters counters_;
  std::array<Ingress, burst_max> burst_{};

 private:
  MonotonicClock clock_;
  LinkMtu link_mtu_;
};

}  // namespace lockstep::hw
