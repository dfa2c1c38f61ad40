// IPv4 packets under libFuzzer, with and without a corrected header checksum.
#include "core/wire/ipv4.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/wire/checksum.hpp"
#include "core/wire/fuzz_input.hpp"

namespace lockstep::wire {
namespace {

void judge(std::span<const std::byte> bytes) {
  Ipv4Packet packet;
  if (parse(bytes, packet) != Drop::none) {
    return;
  }
  check_inside(packet.options, bytes);
  check_inside(packet.payload, bytes);
  check_inside(packet.bytes, bytes);
  CHECK(ipv4_header_bytes + packet.options.size() + packet.payload.size() == packet.bytes.size());
  CHECK(packet.header.fragment_offset <= fragment_offset_mask);
  if (packet.header.time_to_live == 0) {
    return;  // valid when received, but never sent
  }
  std::vector<std::byte> written(ipv4_header_bytes + packet.payload.size());
  Bytes const payload{static_cast<std::uint32_t>(packet.payload.size())};
  Bytes const header = write(packet.header, payload, written);
  std::copy(packet.payload.begin(), packet.payload.end(), written.begin() + header.count);
  Ipv4Packet again;
  CHECK(parse(written, again) == Drop::none);
  CHECK(again.header == packet.header);
  CHECK(std::equal(again.payload.begin(), again.payload.end(), packet.payload.begin(),
                   packet.payload.end()));
}

}  // namespace
}  // namespace lockstep::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  auto const bytes = wire::fuzz_bytes(data, size);
  wire::judge(bytes);
  std::vector<std::byte> corrected(bytes.begin(), bytes.end());
  std::size_t const header = size == 0 ? 0 : (data[0] & 15u) * 4u;
  if (header >= wire::ipv4_header_bytes && header <= corrected.size()) {
    corrected[10] = corrected[11] = std::byte{0};
    std::uint16_t const sum = wire::sum(std::span(corrected).first(header)).checksum();
    corrected[10] = static_cast<std::byte>(sum >> 8);
    corrected[11] = static_cast<std::byte>(sum);
    wire::judge(corrected);
  }
  return 0;
}
