// SEGMENT ARRIVES, RFC 9293 3.10.7: finds what a segment belongs to and calls its section's file.
#include "core/tcp/arrives.hpp"

#include "core/tcp/accounts.hpp"
#include "core/tcp/opening/syn_cache.hpp"
#include "core/tcp/time_wait.hpp"

namespace lockstep::tcp {
namespace {

// Whether a connection, a half-open connection or a TIME-WAIT record has the segment's four-tuple.
template <class Record>
bool has_tuple_of(const Record& record, const InboundSegment& arrival) {
  wire::Segment const& s = arrival.segment;
  return record.remote_port == s.source && record.local_port == s.destination &&
         record.remote == arrival.remote && record.local_address == arrival.local_address;
}

// The same for an entry that is not a connection. Not inlined: the search for a connection needs
// the registers.
[[gnu::noinline]] bool other_has_tuple_of(const Engine& e, TableEntry candidate,
                                          const InboundSegment& arrival) {
  if (candidate.kind == EntryKind::half_open) {
    return has_tuple_of(e.half_opens[candidate.index], arrival);
  }
  return candidate.kind == EntryKind::time_wait &&
         has_tuple_of(e.time_waits[candidate.index], arrival);
}

// A segment for no connection; `found` is the half-open connection or the TIME-WAIT record that it
// is for, or none. Not inlined: the common path needs the registers.
[[gnu::noinline]] Drop arrives_elsewhere(Engine& e, const InboundSegment& arrival,
                                         TableEntry found) {
  e.latest = nullptr;
  if (drops_syn_fin(e.config, arrival.segment.flags)) [[unlikely]] {
    return Drop::tcp_syn_fin;
  }
  if (found.kind == EntryKind::time_wait) {
    return arrives_time_wait(e, found.index, arrival);
  }
  if (found.kind == EntryKind::half_open) {
    return arrives_half_open(e, found.index, arrival);
  }
  //= rfc9293#3.9.2.3
  //# 9293:MUST-57, 9293:MUST-63, 9293:P-ADDR-ALLSEG no group address, in any segment
  // The entries that were found above have none: no connection is opened or accepted with one.
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
  TableEntry const found = e.demux.find(arrival.hash, [&](TableEntry candidate) {
    if (candidate.kind == EntryKind::connection) [[likely]] {
      owner = &e.connection(candidate.index);
      return has_tuple_of(*owner, arrival);
    }
    return other_has_tuple_of(e, candidate, arrival);
  });
  if (found.kind == EntryKind::connection) [[likely]] {
    Connection& c = *owner;
    e.latest = owner;
    ++c.segments_received;
    if (accounts_kept(e)) [[unlikely]] {
      account_of(e, c)->data_segments_in += arrival.segment.payload.empty() ? 0 : 1;
    }
    return c.state == State::syn_sent ? arrives_syn_sent(e, c, arrival)
                                      : arrives_other_states(e, c, arrival);
  }
  return arrives_elsewhere(e, arrival, found);
}

}  // namespace lockstep::tcp
