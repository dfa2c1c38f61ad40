// How a segment leaves: the one call by which the lower layers get the next one of TCP.
#pragma once

#include <span>

#include "core/internet/ip_output.hpp"
#include "core/link/neighbours.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/engine.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp {

// A segment that has left TCP, as the lower layers need it.
struct Transmitted {
  internet::Departure departure;  // without payload: there is no segment
  Bytes data;
  Mac next_hop;
  Index sender = nil;  // the active part, if it is a full segment of new data and nothing else
};

// Writes the next segment of the connection that is the first of the ready list, which must not be
// empty. Without a segment to send, or while its next hop is being resolved, that connection leaves
// the list and nothing is written. `lower` is how TCP reaches the layers below:
//   link::Lookup next_hop(destination, source, asker): the link address, asked for if it is unknown
//   std::span<std::byte> room(source): where the segment goes, behind the headers of that family
//   bool doubt(destination): verifies its next hop; false if there is no link to verify
template <class Lower>
[[gnu::always_inline]] inline Transmitted transmit_first(Engine& e, Lower& lower) {
  Index const at = e.ready().first();
  Connection& c = e.connection(e.actives[at].owner);
  SegmentPlan const plan = plan_next(e, c);
  if (plan.kind == PlanKind::none) {
    leave_ready(e, c);
    release_if_idle(e, c);
    return {};
  }
  // In SYN-RECEIVED the peer's address may be forged: anybody can send a SYN from an address of our
  // link.
  link::Lookup const hop =
      lower.next_hop(c.remote, e.local_of(c),
                     c.state == State::syn_received ? link::Asker::stranger : link::Asker::ours);
  if (hop.kind == link::LookupKind::waiting) {
    leave_ready(e, c);
    c.place = SendPlace::waiting;
    e.actives[at].waiting_for = hop.neighbour;
    e.waiting(hop.neighbour).push_back(at);
    return {};
  }
  //= rfc9293#3.8.3
  //# 9293:MUST-20 negative advice: after R1 retransmissions the next hop is verified
  if (c.doubt_next_hop && lower.doubt(c.remote)) {
    c.doubt_next_hop = false;
  }
  Transmitted out;
  out.departure = {
      e.local_of(c), c.remote, wire::IpProtocol::tcp, c.ttl, ecn::traffic_class_of(c, plan), {}};
  out.data = plan.data;
  out.next_hop = hop.mac;
  out.sender = plan.data.count == c.mss && plan.plain() ? at : nil;
  InFlightState& a = e.active(c);
  Bytes const length = write_plan(e, c, a, plan, lower.room(out.departure.source));
  rotate_ready(e, c, a);
  // With an unreachable next hop the segment counts as sent and lost: its timer retransmits it.
  if (hop.kind == link::LookupKind::resolved) {
    out.departure.payload = length;
  }
  return out;
}

}  // namespace lockstep::tcp
