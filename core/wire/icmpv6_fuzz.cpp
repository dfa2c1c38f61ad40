// ICMPv6, quoted packets, and neighbour discovery messages under libFuzzer.
#include "core/wire/icmpv6.hpp"

#include <array>
#include <vector>

#include "core/wire/checksum.hpp"
#include "core/wire/fuzz_input.hpp"
#include "core/wire/neighbour_discovery.hpp"

namespace lockstep::wire {
namespace {

const Icmp6Path path{IpAddress{0xfe80'0000'0000'0000, 1}, IpAddress{0xfe80'0000'0000'0000, 2}};

void judge(std::span<const std::byte> bytes) {
  Icmp6Message message;
  if (parse(path, bytes, message) != Drop::none) {
    return;
  }
  check_inside(message.body, bytes);
  std::vector<std::byte> written(bytes.size());
  CHECK(write(path, message, written).count == written.size());
  Icmp6Message again;
  CHECK(parse(path, written, again) == Drop::none);
  CHECK(again.type == message.type && again.code == message.code && again.rest == message.rest);
  NdMessage nd;
  if (!is_neighbour_discovery(message.type) || parse(message, nd) != Drop::none) {
    return;
  }
  CHECK(nd.prefix_count <= NdMessage::prefixes_max);
  for (std::uint32_t i = 0; i < nd.prefix_count; ++i) {
    CHECK(nd.prefixes[i].bits <= 128);
  }
}

}  // namespace
}  // namespace lockstep::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  auto const bytes = wire::fuzz_bytes(data, size);
  wire::judge(bytes);
  if (size >= wire::icmp6_header_bytes) {
    // The writer corrects the checksum.
    std::vector<std::byte> corrected(size);
    wire::Icmp6Message message;
    message.type = static_cast<wire::Icmp6Type>(data[0]);
    message.code = data[1];
    message.rest = std::uint32_t{data[4]} << 24 | std::uint32_t{data[5]} << 16 |
                   std::uint32_t{data[6]} << 8 | data[7];
    message.body = bytes.subspan(wire::icmp6_header_bytes);
    static_cast<void>(wire::write(wire::path, message, corrected));
    wire::judge(corrected);
  }
  wire::IcmpQuote quote;
  if (wire::parse_quote6(bytes, quote) == Drop::none) {
    CHECK(quote.header.fragment_offset == 0);
  }
  return 0;
}
