// Builds the octets of a script's packets, and reads the stack's packets in the script's numbers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "conformance/script/flow.hpp"
#include "conformance/script/syntax.hpp"

namespace lockstep::conformance::script {

/// The octets of an arriving packet.
std::vector<std::byte> build(const Packet& packet, const Flow& flow);

/// A sent packet, with the numbers on the wire.
struct Live {
  bool readable = false;  ///< TCP or ICMP with valid checksums; else only `complaint` is set
  std::string complaint;
  bool is_icmp = false;
  Endpoint source, destination;
  std::uint8_t traffic_class = 0, ttl = 0;
  std::uint32_t flow_label = 0;
  // Only for TCP:
  std::uint32_t sequence = 0, ack = 0, length = 0;
  std::uint16_t window = 0, urgent = 0;
  std::uint16_t flags = 0;
  std::vector<Option> options;
  IcmpPacket icmp;
  std::uint32_t segments = 1;  ///< joined to this one packet
};

Live read_live(std::span<const std::byte> bytes);

/// For example "S." or "-".
std::string flags_text(std::uint16_t flags);
/// For example "mss 1460,sackOK", in script syntax with the script's numbers.
std::string options_text(const std::vector<Option>& options);
/// One line in script syntax.
std::string packet_text(const Packet& packet);
std::string live_text(const Live& live, const Flow& flow);

/// A big-endian word of an option's data.
inline std::uint32_t option_word(const Option& option, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    out = out << 8 | (at + i < option.data.size() ? option.data[at + i] : 0u);
  }
  return out;
}
inline bool is_stamp(const Option& option) { return option.kind == 8 && option.data.size() == 8; }

}  // namespace lockstep::conformance::script
