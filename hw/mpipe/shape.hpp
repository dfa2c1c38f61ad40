// What an mPIPE is asked for: workers, rings, buffers; and how much memory that takes.
#pragma once

#include <array>
#include <cstdint>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"

namespace lockstep::hw {

// One of the links that a shape names, the first being 0.
struct MpipeLink {
  std::uint32_t value = 0;
};

struct MpipeShape {
  static constexpr std::uint32_t workers_max = 64;
  static constexpr std::uint32_t links_max = 4;  // of 1024 buckets each, which are all there are
  static constexpr std::uint32_t edma_rings_max = 24;
  static constexpr std::uint32_t name_max = 32;

  // Of one NIC, up to the first that is nullptr. Each worker has a ring in and out on every one.
  std::array<const char*, links_max> links{"xgbe0"};
  Bytes mtu{1'500};  // of each link: at most mtu_max
  Count workers{1};
  Count receive_ring{512};      // entries of each worker's ring on a link: 128, 512, 2048 or 65536
  Count transmit_buffers{512};  // of each worker on a link: frames posted or about to be
  Count batch{16};              // frames posted behind one fence, 1 to 32
  Count burst_frames{32};       // taken at once, at most MpipePort::burst_max
  // All frames to the first worker, whatever they hash to: MpipeSteering::first_worker.
  bool first_only = false;
  // Each worker has a core of the dataplane, and rings that it alone uses are homed there.
  bool dataplane = false;
  bool stamps = false;  // Ingress.arrived is the NIC's stamp instead of the turn's time
  // The stack speaks bare IP: an Ethernet header between these two is put on and taken off here.
  bool bare_ip = false;
  Mac own{};
  Mac peer{};

  static constexpr std::uint32_t link_header_bytes = 18;  // with an 802.1Q tag
  static constexpr std::uint32_t jumbo_frame_max = 10'240;
  static constexpr std::uint32_t mtu_max = jumbo_frame_max - link_header_bytes;

  constexpr std::uint32_t frame_bytes() const { return mtu.count + link_header_bytes; }
  // A MAC takes 1544 octets unless it is told of longer ones.
  constexpr bool jumbo() const { return frame_bytes() > 1'544; }
  constexpr std::uint32_t link_count() const {
    std::uint32_t count = 0;
    while (count < links_max && links[count] != nullptr) {
      ++count;
    }
    return count;
  }
  // Of each link: one for a worker, shared where there are more workers than its part of the rings.
  constexpr std::uint32_t edma_rings() const {
    std::uint32_t const most = edma_rings_max / link_count();
    return workers.value < most ? workers.value : most;
  }
  // Descriptors that can be delivered and not yet given back: slot 0 is the tail, one stays free.
  constexpr std::uint32_t receive_depth() const { return receive_ring.value - 2; }
  // The buffers that software may hold while all rings are full: so many of each size class that
  // rings, not buffers, are what runs out.
  constexpr std::uint32_t receive_buffers() const {
    return link_count() * workers.value * (receive_depth() + burst_frames.value);
  }
};

// The smallest legal ring with room for `frames`; 0: there is none.
constexpr std::uint32_t receive_ring_for(std::uint32_t frames) {
  for (std::uint32_t const entries : {128u, 512u, 2'048u, 65'536u}) {
    if (entries - 2 >= frames) {
      return entries;
    }
  }
  return 0;
}
constexpr std::uint32_t edma_ring_for(std::uint32_t frames) {
  for (std::uint32_t const entries : {512u, 2'048u, 8'192u, 65'536u}) {
    // The 64K ring has one credit less than entries.
    if (entries > frames) {
      return entries;
    }
  }
  return 0;
}

}  // namespace lockstep::hw
