// Reads the flow of a frame: addresses, protocol and ports.
#include "sim/queues/flow_of.hpp"

#include "core/units/hash.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::sim {

FrameFlow flow_of(std::span<const std::byte> frame, std::uint32_t link_header_bytes, FlowKey key) {
  constexpr std::uint32_t tagged = 0x8100;
  std::size_t at = link_header_bytes;
  if (at >= 14 && frame.size() >= at && wire::load16(frame.data() + 12) == tagged) {
    at = 18;
  } else if (at >= 14) {
    at = 14;
  }
  if (frame.size() < at + 20) {
    return {};
  }
  std::span<const std::byte> const ip = frame.subspan(at);
  std::uint32_t const first = wire::load16(ip.data());
  bool const six = first >> 12 == 6;
  if ((first >> 12 != 4 && !six) || (six && ip.size() < 40)) {
    return {};
  }
  std::size_t const header = six ? 40 : std::size_t{first >> 8 & 0xf} * 4;
  std::uint32_t const protocol = wire::load8(ip.data() + (six ? 6 : 9));
  bool const fragment = !six && (wire::load16(ip.data() + 6) & 0x3fff) != 0;
  SecretHash hash({key.value, protocol});
  std::size_t const addresses = six ? 8 : 12;
  for (std::size_t i = addresses; i < (six ? 40u : 20u); i += 4) {
    hash.add(wire::load32(ip.data() + i));
  }
  bool const ports = (protocol == 6 || protocol == 17) && !fragment && ip.size() >= header + 4;
  hash.add(ports ? wire::load32(ip.data() + header) : 0);
  std::uint32_t const ecn = first >> (six ? 4 : 0) & 3;
  return {static_cast<std::uint32_t>(hash.finish()), ecn != 0};
}

}  // namespace lockstep::sim
