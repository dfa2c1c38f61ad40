// The classifier's results for a frame: layers, tags, checksum verdict and flow hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::hw::mpipe {

// What the classifier hashes a flow by.
enum class FlowHash : std::uint8_t {
  nic,       // symmetric and additive; how it hashes one end is undocumented
  ours,      // the shard that home_of names; a program for the classifier could compute it
  one,       // the same value for every frame
  lopsided,  // different for a flow's two directions
};

// `value` replaces the instruction whose function is undocumented.
struct HashSeed {
  std::uint64_t value = 0;
  FlowHash by = FlowHash::nic;
  std::uint32_t workers = 1;  // for FlowHash::ours
};

struct Classified {
  std::uint16_t vlan = 0xffff;  // none
  std::uint16_t ethertype = 0;  // 0: LLC without SNAP, or the frame is too short
  std::uint8_t l2_offset = 0;
  std::uint8_t l3_offset = 0;
  std::uint8_t l4_offset = 0;
  std::uint8_t status = 0;  // bad_header: the checksum of an IPv4 header is wrong
  bool summed = false;      // cs: `sum` covers the transport, pseudo-header included
  std::uint16_t sum = 0;    // 0xffff: correct
  std::uint8_t sum_start = 0;
  std::uint16_t hash = 0;
  static constexpr std::uint8_t bad_header = 0x80;
};

// Accepts any octets. O(frame) if there is a checksum.
Classified classify(std::span<const std::byte> frame, HashSeed seed);

// The contribution of one end to a flow's hash, added in 16-bit one's complement.
std::uint16_t end_hash(std::span<const std::byte> address, std::uint16_t port, HashSeed seed);
std::uint16_t add_hashes(std::span<const std::uint16_t> parts);

}  // namespace lockstep::hw::mpipe
