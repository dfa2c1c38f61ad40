// ICMP messages and the packets they quote under libFuzzer.
#include "core/wire/icmp.hpp"

#include <algorithm>
#include <vector>

#include "core/wire/checksum.hpp"
#include "core/wire/fuzz_input.hpp"

namespace lockstep::wire {
namespace {

void judge(std::span<const std::byte> bytes) {
  IcmpMessage message;
  if (parse(bytes, message) != Drop::none) {
    return;
  }
  check_inside(message.body, bytes);
  CHECK(message.body.size() + icmp_header_bytes == bytes.size());
  std::vector<std::byte> written(bytes.size());
  CHECK(write(message, written).count == written.size());
  CHECK(sum(written).verifies());
  IcmpMessage again;
  CHECK(parse(written, again) == Drop::none);
  CHECK(again.type == message.type && again.code == message.code && again.rest == message.rest);
}

}  // namespace
}  // namespace lockstep::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  auto const bytes = wire::fuzz_bytes(data, size);
  wire::judge(bytes);
  if (size >= wire::icmp_header_bytes) {
    std::vector<std::byte> corrected(bytes.begin(), bytes.end());
    corrected[2] = corrected[3] = std::byte{0};
    std::uint16_t const sum = wire::sum(corrected).checksum();
    corrected[2] = static_cast<std::byte>(sum >> 8);
    corrected[3] = static_cast<std::byte>(sum);
    wire::judge(corrected);
  }
  wire::IcmpQuote quote;
  if (wire::parse(bytes, quote) == Drop::none) {
    CHECK(quote.header.source.is_v4() && quote.header.destination.is_v4());
    CHECK(quote.header.fragment_offset == 0);
  }
  return 0;
}
