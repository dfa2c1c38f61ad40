// Ethernet frames and 802.1Q tags under libFuzzer: parsing and writing again gives the same frame.
#include "core/wire/ethernet.hpp"

#include <array>

#include "core/wire/fuzz_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  auto const bytes = wire::fuzz_bytes(data, size);
  wire::EthernetFrame frame;
  if (wire::parse(bytes, frame) != Drop::none) {
    return 0;
  }
  wire::check_inside(frame.payload, bytes);
  if (frame.header.vlan > wire::vlan_max) {
    return 0;  // reserved: may be received, but is not a valid VLAN
  }
  std::array<std::byte, 18> written{};
  Bytes const length = wire::write(frame.header, written);
  CHECK(length.count == wire::ethernet_bytes(frame.header.vlan));
  wire::EthernetFrame again;
  // The type of a second tag, written without a first, would be parsed as the first.
  if (static_cast<std::uint16_t>(frame.header.type) != 0x8100) {
    CHECK(wire::parse(std::span(written).first(length.count), again) == Drop::none);
    CHECK(again.header == frame.header);
  }
  return 0;
}
