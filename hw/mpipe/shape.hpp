// The resources requested of an mPIPE: workers, rings, buffers; and the memory that they take.
#pragma once

#include <array>
#include <cstdint>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"

namespace lockstep::hw {

// The index of a link in MpipeShape::links.
struct MpipeLink {
  std::uint32_t value = 0;
};

struct MpipeShape {
  static constexpr std::uint32_t workers_max = 64;
  static constexpr std::uint32_t links_max = 4;  // with 1024 buckets each, which uses all there are
  static constexpr std::uint32_t edma_rings_max = 24;
  static constexpr std::uint32_t name_max = 32;

  // Links of one NIC, up to the first nullptr. Each worker has a receive and a send ring on every
  // link.
  std::array<const char*, links_max> links{"xgbe0"};
  Bytes mtu{1'500};  // of each link, at most mtu_max
  Count workers{1};
  Count receive_ring{512};      // entries of each worker's ring on a link: 128, 512, 2048 or 65536
  Count transmit_buffers{512};  // of each worker on a link: frames posted or claimed
  Count batch{16};              // frames posted after one fence, 1 to 32
  Count burst_frames{32};       // frames taken at once, at most MpipePort::burst_max
  // All frames go to worker 0, whatever their hash: MpipeSteering::first_worker.
  bool first_only = false;
  // Each worker has a core of the dataplane, and the rings that it alone uses are homed there.
  bool dataplane = false;
  bool stamps = false;  // Ingress.arrived is the NIC's timestamp instead of the turn's time
  // The stack uses bare IP: the port adds and removes an Ethernet header with these two addresses.
  bool bare_ip = false;
  Mac own{};
  Mac peer{};

  static constexpr std::uint32_t link_header_bytes = 18;  // with an 802.1Q tag
  static constexpr std::uint32_t jumbo_frame_max = 10'240;
  static constexpr std::uint32_t mtu_max = jumbo_frame_max - link_header_bytes;

  constexpr std::uint32_t frame_bytes() const { return mtu.count + link_header_bytes; }
  // A MAC accepts 1544 octets unless jumbo frames are enabled.
  constexpr bool jumbo() const { return frame_bytes() > 1'544; }
  constexpr std::uint32_t link_count() const {
    std::uint32_t count = 0;
    while (count < links_max && links[count] != nullptr) {
      ++count;
    }
    return count;
  }
  // For each link: one for each worker, shared if there are more workers than the link's part of
  // the rings.
  constexpr std::uint32_t edma_rings() const {
    std::uint32_t const most = edma_rings_max / link_count();
    return workers.value < most ? workers.value : most;
  }
  // Descriptors that can be delivered and not yet credited: slot 0 is the tail, and one stays free.
  constexpr std::uint32_t receive_depth() const { return receive_ring.value - 2; }
  // The buffers that software may own while all rings are full. With this many in each size class,
  // rings run out before buffers do.
  constexpr std::uint32_t receive_buffers() const {
    return link_count() * workers.value * (receive_depth() + burst_frames.value);
  }
};

// The smallest valid ring with room for `frames`; 0: there is none.
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
