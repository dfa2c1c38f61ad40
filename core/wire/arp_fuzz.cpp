// ARP packets under libFuzzer: parsing and writing again gives the same packet.
#include "core/wire/arp.hpp"

#include <algorithm>
#include <array>

#include "core/wire/fuzz_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  auto const bytes = wire::fuzz_bytes(data, size);
  wire::ArpPacket packet;
  if (wire::parse(bytes, packet) != Drop::none) {
    return 0;
  }
  std::array<std::byte, wire::arp_packet_bytes> written{};
  CHECK(wire::write(packet, written).count == written.size());
  CHECK(std::equal(written.begin(), written.end(), bytes.begin()));
  return 0;
}
