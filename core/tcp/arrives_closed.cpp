// SEGMENT ARRIVES without a connection (RFC 9293 3.10.7.1), and the choice of whom it is for.
#include "core/tcp/arrives.hpp"
#include "core/tcp/replies.hpp"
#include "core/tcp/time_wait.hpp"

namespace lockstep::tcp {
namespace {

bool same_connection(const Engine& e, Found found, const Arrival& arrival) {
  wire::Segment const& s = arrival.segment;
  if (found.kind == EntryKind::connection) {
    Connection const& c = e.connections[found.index];
    return c.remote == arrival.remote && c.remote_port == s.source &&
           c.local_port == s.destination && c.local_address == arrival.local_address;
  }
  if (found.kind == EntryKind::time_wait) {
    TimeWait const& t = e.time_waits[found.index];
    return t.remote == arrival.remote && t.remote_port == s.source &&
           t.local_port == s.destination && t.local_address == arrival.local_address;
  }
  return false;
}

}  // namespace

Drop arrives(Engine& e, const Arrival& arrival) {
  wire::Segment const& s = arrival.segment;
  ++e.counters->segments_received;
  e.state->arrived = arrival.arrived;
  //= rfc9293#3.9.2.3
  //# 9293:MUST-57, 9293:MUST-63, 9293:P-ADDR-ALLSEG no group address, in any segment
  if (arrival.remote.is_multicast() || arrival.remote.is_unspecified()) {
    return Drop::tcp_to_group;
  }
  Found const found = e.demux.find(arrival.hash, [&](Found candidate) {
    return same_connection(e, candidate, arrival);
  });
  if (found.kind == EntryKind::connection) {
    Connection& c = e.connection(found.index);
    ++c.segments_received;
    return c.state == State::syn_sent ? arrives_syn_sent(e, c, arrival)
                                      : arrives_otherwise(e, c, arrival);
  }
  if (found.kind == EntryKind::time_wait) {
    return arrives_time_wait(e, found.index, arrival);
  }
  FourTuple const tuple{{arrival.local, s.destination}, {arrival.remote, s.source}};
  Index const listener = find_listener(e, tuple);
  return listener != nil ? arrives_listen(e, listener, arrival, nil)
                         : arrives_closed(e, arrival);
}

Drop arrives_closed(Engine& e, const Arrival& arrival) {
  //= rfc9293#3.10.7.1
  //# 9293:P-CLOSED-RST a reset is never answered
  if (arrival.segment.flags.rst()) {
    return Drop::tcp_closed_reset;
  }
  //= rfc9293#3.5.1
  //# 9293:P-HALFOPEN-DATA a segment for a connection that is not there draws a reset
  //= rfc9293#3.5.2
  //# 9293:P-RST-WHEN only what is clearly for no connection here is reset
  reply_reset(e, arrival);
  return Drop::tcp_closed;
}

}  // namespace lockstep::tcp
