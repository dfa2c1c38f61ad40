// IPv6 packets and their extension headers under libFuzzer.
#include "core/wire/ipv6.hpp"

#include <array>

#include "core/wire/fuzz_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  auto const bytes = wire::fuzz_bytes(data, size);
  wire::Ipv6Packet packet;
  if (wire::parse(bytes, packet) != Drop::none) {
    return 0;
  }
  wire::check_inside(packet.bytes, bytes);
  CHECK(packet.bytes.size() >= wire::ipv6_header_bytes);
  std::array<std::byte, wire::ipv6_header_bytes> written{};
  Bytes const payload{static_cast<std::uint32_t>(packet.bytes.size() - wire::ipv6_header_bytes)};
  CHECK(wire::write(packet.header, payload, written).count == written.size());
  wire::Ipv6Packet again;
  std::array<std::byte, wire::ipv6_header_bytes + 65'535> whole{};
  std::copy(written.begin(), written.end(), whole.begin());
  CHECK(wire::parse(std::span(whole).first(written.size() + payload.count), again) == Drop::none);
  CHECK(again.header == packet.header);
  Drop const drop = wire::walk(packet);
  if (drop == Drop::none) {
    wire::check_inside(packet.payload, packet.bytes);
    CHECK(!packet.has_fragment || packet.fragment.offset <= wire::fragment_offset_mask);
    CHECK(packet.fragment_at <= packet.bytes.size());
  } else {
    // The pointer is inside the packet, or just behind it.
    CHECK(!packet.problem.send_icmp_error || packet.problem.pointer <= packet.bytes.size());
  }
  return 0;
}
