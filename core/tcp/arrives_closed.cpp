// SEGMENT ARRIVES without a connection (RFC 9293 3.10.7.1), and the choice of whom it is for.
#include "core/tcp/accounts.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/opening/syn_cache.hpp"
#include "core/tcp/replies.hpp"
#include "core/tcp/time_wait.hpp"

namespace lockstep::tcp {
namespace {

// Of a connection, a half-open one or a TIME-WAIT record: whether it is the segment's.
template <class Record>
bool is_of(const InboundSegment& arrival, const Record& record) {
  wire::Segment const& s = arrival.segment;
  return record.remote_port == s.source && record.local_port == s.destination &&
         record.remote == arrival.remote && record.local_address == arrival.local_address;
}

// Whether an entry that is no connection's is the segment's. Apart from the search for connections,
// whose registers it needs.
[[gnu::noinline]] bool is_of_other(const Engine& e, const InboundSegment& arrival,
                                   Found candidate) {
  if (candidate.kind == EntryKind::half_open) {
    return is_of(arrival, e.half_opens[candidate.index]);
  }
  return candidate.kind == EntryKind::time_wait && is_of(arrival, e.time_waits[candidate.index]);
}

// A segment that is no connection's: `found` is what else it is for. Apart from the plain path,
// whose registers it needs.
[[gnu::noinline]] Drop arrives_elsewhere(Engine& e, const InboundSegment& arrival, Found found) {
  if (found.kind == EntryKind::time_wait) {
    return arrives_time_wait(e, found.index, arrival);
  }
  if (found.kind == EntryKind::half_open) {
    return arrives_half_open(e, found.index, arrival);
  }
  //= rfc9293#3.9.2.3
  //# 9293:MUST-57, 9293:MUST-63, 9293:P-ADDR-ALLSEG no group address, in any segment
  // Nothing that was found above has one, as nothing is opened or accepted with one.
  if (arrival.remote.is_multicast() || arrival.remote.is_unspecified()) {
    return Drop::tcp_to_group;
  }
  wire::Segment const& s = arrival.segment;
  FourTuple const tuple{{arrival.local, s.destination}, {arrival.remote, s.source}};
  Index const listener = find_listener(e, tuple);
  return listener != nil ? arrives_listen(e, listener, arrival, nil) : arrives_closed(e, arrival);
}

}  // namespace

Drop arrives(Engine& e, const InboundSegment& arrival) {
  ++e.counters->segments_received;
  e.state->arrived = arrival.arrived;
  Connection* owner = nullptr;
  Found const found = e.demux.find(arrival.hash, [&](Found candidate) {
    if (candidate.kind == EntryKind::connection) [[likely]] {
      owner = &e.connection(candidate.index);
      return is_of(arrival, *owner);
    }
    return is_of_other(e, arrival, candidate);
  });
  if (found.kind == EntryKind::connection) [[likely]] {
    Connection& c = *owner;
    ++c.segments_received;
    if (accounts_kept(e)) [[unlikely]] {
      account_of(e, c)->data_segments_in += arrival.segment.payload.empty() ? 0 : 1;
    }
    return c.state == State::syn_sent ? arrives_syn_sent(e, c, arrival)
                                      : arrives_other_states(e, c, arrival);
  }
  return arrives_elsewhere(e, arrival, found);
}

[[gnu::cold]] Drop arrives_closed(Engine& e, const InboundSegment& arrival) {
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
