// Examines a flow as a whole: its roles, its times, and whether a verdict is possible.
#include "conformance/replay/outline.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"
#include "sim/checkers/referee/hop_limits.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

bool has_sent(const Flow& flow, const Endpoint& side) {
  return std::any_of(flow.segments.begin(), flow.segments.end(),
                     [&](const Segment& segment) { return is_from(segment, side); });
}

void find_role(const Flow& flow, const Negotiated& agreed, const Scenario* scenario,
               Script& script) {
  script.role = Role::passive;
  for (const Segment& segment : flow.segments) {
    if (segment.any(flag::syn)) {
      bool const ours = is_from(segment, script.device);
      script.role = ours && !segment.any(flag::ack) ? Role::active : Role::passive;
      break;
    }
  }
  bool const only_resets =
      std::all_of(flow.segments.begin(), flow.segments.end(), [&](const Segment& segment) {
        return !is_from(segment, script.device) || segment.any(flag::rst);
      });
  // No listener on that port. Without the peer's SYN, the reset may also end a connection.
  bool const resets = only_resets && has_sent(flow, script.device);
  if (script.role == Role::passive && resets && agreed.syn[1]) {
    script.role = Role::closed;
  }
  if (scenario != nullptr) {
    script.role = scenario->role;
  }
}

/// Whether another host sends in the device's name: some of its packets took another way.
bool has_hop_limits(const Flow& flow, const Endpoint& device) {
  sim::referee::HopLimits limits;
  for (const Segment& segment : flow.segments) {
    if (is_from(segment, device) && !segment.any(flag::rst)) {
      limits.take(passed(segment));
    }
  }
  return limits.differ();
}

/// The least time from a segment of the peer to the device's ACK of it: the capture point may be
/// far from the device. The segment may repeat one that the capture lacks, unless the ACK echoes
/// its timestamp.
Duration distance_of(const Flow& flow, const Endpoint& device) {
  std::map<std::uint32_t, const Segment*> arrived;
  Duration least = Duration::forever();
  Duration echoed = Duration::forever();
  for (const Segment& segment : flow.segments) {
    if (!is_from(segment, device)) {
      if (segment.length() != 0) {
        arrived.emplace(segment.end(), &segment);
      }
      continue;
    }
    auto const found = arrived.find(segment.acknowledgment);
    if (!segment.any(flag::ack) || found == arrived.end()) {
      continue;
    }
    Duration const took = segment.time.since(found->second->time);
    auto const theirs = stamps_of(*found->second);
    auto const ours = stamps_of(segment);
    least = std::min(least, took);
    echoed = theirs && ours && theirs->value == ours->echo ? std::min(echoed, took) : echoed;
  }
  Duration const best = echoed == Duration::forever() ? least : echoed;
  return best == Duration::forever() ? Duration{} : best;
}

void find_distance(const Flow& flow, Script& script) {
  script.distance = distance_of(flow, script.device);
  // The other side answers later than the device, or the capture point is as near to it.
  bool const at_once = script.distance <= Duration::microseconds(50);
  bool const nearer = script.distance * 2 < script.round_trip;
  bool const beside = script.distance <= Duration::milliseconds(2) && (at_once || nearer);
  // Further away a link may delay single packets, as an access point does whose station sleeps.
  script.at_device = !script.unaided || script.distance <= Duration::microseconds(100);
  script.near = !script.unaided || (beside && !has_hop_limits(flow, script.device));
}

void find_round_trip(const Flow& flow, Script& script) {
  std::map<std::uint32_t, Instant> sent;
  Duration least = Duration::forever();
  for (const Segment& segment : flow.segments) {
    if (is_from(segment, script.device)) {
      if (segment.length() != 0 && !sent.emplace(segment.end(), segment.time).second) {
        sent[segment.end()] = Instant::never();  // retransmitted: gives no measurement
      }
    } else if (segment.any(flag::ack)) {
      auto const found = sent.find(segment.acknowledgment);
      if (found != sent.end() && !found->second.is_never()) {
        least = std::min(least, segment.time.since(found->second));
        sent.erase(found);
      }
    }
  }
  script.round_trip = least == Duration::forever() ? Duration{} : least;
}

bool sends_plain_syn(const Flow& flow, const Endpoint& side) {
  return std::any_of(flow.segments.begin(), flow.segments.end(), [&](const Segment& segment) {
    return is_from(segment, side) && segment.any(flag::syn) && !segment.any(flag::ack);
  });
}

void judge_handshake(const Flow& flow, const Negotiated& agreed, const Scenario* scenario,
                     Script& script) {
  bool const opened_by_peer = script.role == Role::passive;
  std::size_t peer_segments = 0;
  bool established = false;
  for (const Segment& segment : flow.segments) {
    bool const of_device = is_from(segment, script.device);
    peer_segments += of_device ? 0u : 1u;
    established |= of_device && !segment.any(flag::syn | flag::rst);
  }
  if (opened_by_peer && scenario == nullptr && sends_plain_syn(flow, script.device)) {
    script.cannot_tell =
        "simultaneous open, captured near the peer: choose the other side with --device";
  } else if (opened_by_peer && !agreed.syn[1]) {
    script.cannot_tell = "missing handshake: the peer's SYN was not captured";
  } else if (!opened_by_peer && !agreed.syn[1] && established && peer_segments != 0 &&
             scenario == nullptr) {
    script.cannot_tell = "missing handshake: the peer's answer to the SYN was not captured";
  } else if (!opened_by_peer && !agreed.syn[0]) {
    script.cannot_tell = "missing handshake: the device's SYN was not captured";
  } else if (opened_by_peer && !agreed.syn[0] && peer_segments != flow.segments.size()) {
    script.cannot_tell =
        "missing handshake: the device answered the SYN as of a connection that was not captured";
  } else if (peer_segments == 0) {
    script.cannot_tell = "one side only: no segment of the peer was captured";
  } else if (peer_segments == flow.segments.size()) {
    script.cannot_tell = "one side only: no segment of the device was captured";
  }
}

/// Sets cannot_tell if the capture lacks what a verdict needs.
void judge_feasibility(const Flow& flow, const Negotiated& agreed, const Scenario* scenario,
                       Script& script) {
  if (script.comparison == Comparison::exact || script.role == Role::closed) {
    return;
  }
  std::size_t cut = 0;
  for (const Segment& segment : flow.segments) {
    cut += segment.missing != 0 ? 1 : 0;
  }
  if (cut != 0) {
    script.cannot_tell =
        fmt::format("truncated snaplen: {} segment{} cut", cut, cut == 1 ? " was" : "s were");
  } else if (!agreed.syn[0] && !agreed.syn[1]) {
    script.cannot_tell = "missing handshake: no SYN was captured";
  } else {
    judge_handshake(flow, agreed, scenario, script);
  }
}

}  // namespace

void outline(const Flow& flow, const Negotiated& agreed, const Scenario* scenario, Script& script) {
  find_role(flow, agreed, scenario, script);
  find_round_trip(flow, script);
  find_distance(flow, script);
  judge_feasibility(flow, agreed, scenario, script);
}

}  // namespace lockstep::conformance
