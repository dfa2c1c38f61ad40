// What the classifier reads in a frame: layers, tags, checksum verdict and flow hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::hw::mpipe {

// By what the classifier hashes a flow.
enum class FlowHash : std::uint8_t {
  nic,       // symmetric and additive; of an end it hashes what nobody has written down
  ours,      // the shard whose the frame is (home_of), as a program for the classifier could
  one,       // the same of every frame
  lopsided,  // a flow's two directions differ
};

// `value` stands for the instruction whose function nobody has written down.
struct HashSeed {
  std::uint64_t value = 0;
  FlowHash by = FlowHash::nic;
  std::uint32_t workers = 1;  // ours
};

struct Classified {
  std::uint16_t vlan = 0xffff;  // none
  std::uint16_t ethertype = 0;  // 0: LLC without SNAP, or too short to have one
  std::uint8_t l2_offset = 0;
  std::uint8_t l3_offset = 0;
  std::uint8_t l4_offset = 0;
  std::uint8_t status = 0;  // bad_header: the sum of an IPv4 header is wrong
  bool summed = false;      // cs: `sum` is of the transport, pseudo-header included
  std::uint16_t sum = 0;    // 0xffff: good
  std::uint8_t sum_start = 0;
  std::uint16_t hash = 0;
  static constexpr std::uint8_t bad_header = 0x80;
};

// Any octets at all may come in. O(frame) where there is a checksum.
Classified classify(std::span<const std::byte> frame, HashSeed seed);

// What one end of a flow adds to its hash, by 16-bit one's complement addition.
std::uint16_t end_hash(std::span<const std::byte> address, std::uint16_t port, HashSeed seed);
std::uint16_t add_hashes(std::span<const std::uint16_t> parts);

}  // namespace lockstep::hw::mpipe
