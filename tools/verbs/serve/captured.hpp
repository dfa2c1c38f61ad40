// A driver whose frames are captured on their way, if there is a capture.
#pragma once

#include <fmt/core.h>

#include <string>

#include "core/stack/stack.hpp"
#include "core/stack/statistics.hpp"
#include "hw/poll/loop.hpp"
#include "tools/verbs/serve/capture.hpp"

namespace lockstep::tools {

/// Forwards everything to `port`. Received frames are captured when the stack has processed them,
/// with a comment if it has dropped any of their burst.
template <class Port>
class Captured {
 public:
  /// `capture`: nullptr if there is none.
  Captured(Port& port, const Stack& stack, Capture* capture, ShardId self)
      : port_(port), stack_(stack), capture_(capture), self_(self) {}

  Instant now() {
    now_ = port_.now();
    return now_;
  }
  std::span<const Ingress> receive() {
    auto const burst = port_.receive();
    if (capture_ != nullptr) {
      burst_ = burst;
      before_ = stack_.statistics().drops;
    }
    return burst;
  }
  void reclaim() {
    if (capture_ != nullptr && !burst_.empty()) {
      note_burst();
    }
    port_.reclaim();
  }
  std::span<std::byte> claim() {
    room_ = port_.claim();
    return room_;
  }
  void commit(const Egress& egress) {
    if (capture_ != nullptr && egress.to.is_wire()) {
      bool const partial = egress.checksum_start != 0 || egress.checksum_offset != 0;
      capture_->put(self_, {now_, true, partial, {}}, room_.first(egress.length));
    }
    port_.commit(egress);
  }
  void flush() { port_.flush(); }

  int descriptor() const { return port_.descriptor(); }
  bool holds() const { return port_.holds(); }
  bool more() const { return port_.more(); }
  bool down() const { return port_.down(); }
  bool gone() const { return port_.gone(); }
  Bytes link_mtu()
    requires hw::LinkedDriver<Port>
  {
    return port_.link_mtu();
  }
  bool prepare_sleep()
    requires hw::RestingDriver<Port>
  {
    return port_.prepare_sleep();
  }
  bool quiesce()
    requires hw::RestingDriver<Port>
  {
    return port_.quiesce();
  }
  int doorbell() const
    requires hw::RestingDriver<Port>
  {
    return port_.doorbell();
  }

 private:
  void note_burst() {
    std::string const dropped = drops_text(before_, stack_.statistics().drops);
    std::string comment;
    if (!dropped.empty()) {
      comment = burst_.size() == 1
                    ? fmt::format("dropped: {}", dropped)
                    : fmt::format("dropped of the {} frames received with this one: {}",
                                  burst_.size(), dropped);
    }
    for (const Ingress& frame : burst_) {
      bool const partial = frame.checksum == Checksum::good;
      capture_->put(self_, {now_, false, partial, comment}, frame.bytes);
    }
    burst_ = {};
  }

  Port& port_;
  const Stack& stack_;
  Capture* capture_;
  ShardId self_;
  Instant now_;
  std::span<const Ingress> burst_;
  std::span<std::byte> room_;
  DropCounters before_;
};

}  // namespace lockstep::tools
