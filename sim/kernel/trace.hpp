// A trace: a capture of all nodes or of one, with a comment on why each packet was sent.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/tcp/counters.hpp"
#include "core/wire/tcp.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/kernel/pcapng.hpp"
#include "sim/kernel/text.hpp"

namespace lockstep::sim {

// Writes pcapng into a sink. A packet is recorded where it leaves and where it arrives, so that a
// lost packet shows as missing. The comment of a sent packet gives the host, the state of its
// connection, cwnd and bytes in flight, the kind of packet, and what caused the turn.
class Trace final : public Observer {
 public:
  // Records all nodes, one interface each.
  Trace(const World& world, ByteSink& sink);
  // Records one node.
  Trace(const World& world, ByteSink& sink, NodeRef only);

  void sent(const Kernel& kernel, const FrameNote& note) override;
  void delivered(const Kernel& kernel, const FrameNote& note) override;
  void turn_begins(const Kernel& kernel, HostIndex host) override;
  void on_event(const Kernel& kernel, HostIndex host, const Event& event) override;
  void turned(const Kernel& kernel, HostIndex host, Outcome outcome) override;

  // How many packets were written.
  std::uint64_t packets() const { return writer_.packets(); }

 private:
  struct Known {
    FourTuple tuple;
    ConnectionId id;
    std::uint64_t retransmissions = 0;  // as of its last packet
  };
  // The events before a host's packets in one turn.
  struct Cause {
    std::array<std::uint64_t, tcp::timer_kind_count> timers{};
    std::uint32_t arrived = 0;           // since the last turn
    std::uint32_t arrived_segments = 0;  // of these, TCP segments
    std::uint32_t arrived_data = 0;      // of these, with data
    bool event_told = false;
    std::vector<Known> known;  // sorted by tuple
  };

  std::uint32_t interface_of(NodeRef node) const;
  bool traced(NodeRef node) const;
  void describe(const Kernel& kernel, HostIndex host, std::span<const std::byte> frame, Line& out);
  void describe_segment(const Kernel& kernel, HostIndex host, const FourTuple& tuple,
                        const wire::Segment& segment, Line& out);
  void describe_cause(const Kernel& kernel, HostIndex host, Line& out) const;
  Known* find(const Kernel& kernel, HostIndex host, const FourTuple& tuple);
  void learn(const Kernel& kernel, HostIndex host);

  PcapngWriter writer_;
  std::uint32_t hosts_;
  std::uint32_t stations_;
  bool all_;
  NodeRef only_;
  std::vector<Cause> causes_;
};

}  // namespace lockstep::sim
