// What a discipline reads of a frame: a hash of its flow, and whether it may be marked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::sim {

struct FrameFlow {
  std::uint32_t hash = 0;
  bool ect = false;
};

// `key` makes the hash different for each seed. Frames that are not IP share one flow.
struct FlowKey {
  std::uint32_t value = 0;
};
FrameFlow flow_of(std::span<const std::byte> frame, std::uint32_t link_header_bytes, FlowKey key);

}  // namespace lockstep::sim
