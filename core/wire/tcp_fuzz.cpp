// TCP segments and options under libFuzzer: writing and parsing again gives the same.
#include "core/wire/tcp.hpp"

#include <array>

#include "core/wire/fuzz_input.hpp"

namespace lockstep::wire {
namespace {

void judge_options(const Options& options) {
  CHECK(options.sack_count <= sack_blocks_max);
  CHECK(options.window_scale.shift <= 14);
  // Options without alignment may fit a header that they exceed when the writer aligns them.
  if (options_bytes(options).count > tcp_options_bytes_max) {
    return;
  }
  for (OptionOrder const order : {OptionOrder::like_linux, OptionOrder::like_freebsd}) {
    std::array<std::byte, tcp_options_bytes_max> written{};
    Bytes const length = write(options, written, order);
    CHECK(length == options_bytes(options));
    Options again;
    CHECK(parse(std::span(written).first(length.count), again) == Drop::none);
    CHECK(again == options);
  }
}

}  // namespace
}  // namespace lockstep::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  auto const bytes = wire::fuzz_bytes(data, size);
  wire::Options options;
  if (size <= wire::tcp_options_bytes_max && wire::parse(bytes, options) == Drop::none) {
    wire::judge_options(options);
  }
  wire::Segment segment;
  if (wire::parse(bytes, segment) == Drop::none) {
    wire::check_inside(segment.payload, bytes);
    CHECK(segment.payload.size() + wire::tcp_header_bytes <= size);
    wire::judge_options(segment.options);
  }
  return 0;
}
