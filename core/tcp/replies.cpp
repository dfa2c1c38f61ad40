// Segments sent without a connection: resets, ACKs in TIME-WAIT, answers of the SYN cache.
#include "core/tcp/replies.hpp"

#include "core/tcp/accounts.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::tcp {
namespace {

// Puts a segment without data into the reply queue, with options or (null) without. If the queue is
// full the segment is dropped and counted, and the result is false.
bool push(Engine& e, internet::ReplyHeader header, const wire::Header& segment,
          const wire::Options* named) {
  Bytes const options = named == nullptr ? Bytes{} : wire::options_bytes(*named);
  header.protocol = static_cast<std::uint8_t>(wire::IpProtocol::tcp);
  header.length = static_cast<std::uint16_t>(wire::tcp_header_bytes + options.count);
  std::span<std::byte> const room = e.replies.push(header);
  if (room.empty()) {
    e.drops->count(Drop::reply_queue_full);
    return false;
  }
  if (named != nullptr) {
    static_cast<void>(
        wire::write(*named, room.subspan(wire::tcp_header_bytes), e.config.option_order));
  }
  Bytes const length{header.length};
  wire::PseudoHeader const pseudo{header.source, header.destination, header.protocol, length};
  wire::write_whole(segment, options, pseudo, {}, room);
  ++e.counters->segments_sent;
  return true;
}

}  // namespace

bool reply(Engine& e, const internet::ReplyHeader& header, const wire::Segment& segment) {
  return push(e, header, segment, &segment.options);
}

[[gnu::cold]] void reply_reset(Engine& e, const InboundSegment& arrival) {
  wire::Segment const& in = arrival.segment;
  wire::Segment reset;
  reset.source = in.destination;
  reset.destination = in.source;
  //= rfc9293#3.5.2
  //# 9293:P-RST-SEQ SEQ=SEG.ACK if it has an ACK, otherwise SEQ=0 and ACK=SEG.SEQ+SEG.LEN
  if (in.flags.ack()) {
    //= rfc9293#3.10.7.1
    //# 9293:P-CLOSED-ACK <SEQ=SEG.ACK><CTL=RST>
    reset.sequence = in.acknowledgment;
    reset.flags = wire::flag::rst;
  } else {
    //= rfc9293#3.10.7.1
    //# 9293:P-CLOSED-SEG <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>
    reset.acknowledgment = in.end();
    reset.flags = wire::flag::rst | wire::flag::ack;
  }
  //= rfc7323#5.2
  //# 7323:TS-19 a segment with a timestamp is reset with one: TSecr its TSval, TSval zero
  if (in.options.has_timestamps && e.config.timestamps && e.config.reset_stamps) {
    reset.options.has_timestamps = true;
    reset.options.timestamp_echo = in.options.timestamp_value;
  }
  internet::ReplyHeader header;
  header.source = arrival.local;
  header.destination = arrival.remote;
  header.time_to_live = e.ttl_to(arrival.remote);
  header.has_mac = true;
  header.mac = arrival.from;
  e.counters->resets_sent += push(e, header, reset, &reset.options) ? 1 : 0;
}

bool reply_syn(Engine& e, const InboundSegment& arrival, const Listener& by, Sequence iss,
               WireWindow window) {
  wire::Segment const& in = arrival.segment;
  wire::Segment out;
  out.source = in.destination;
  out.destination = in.source;
  out.sequence = iss;
  out.acknowledgment = in.sequence.next();
  out.flags = wire::flag::syn | wire::flag::ack;
  out.window = window;
  out.options.has_mss = true;
  out.options.mss = accounts::least_mss(by.mss, e.mss_to(arrival.remote));
  internet::ReplyHeader header;
  header.source = arrival.local;
  header.destination = arrival.remote;
  header.time_to_live = by.ttl != 0 ? by.ttl : e.ttl_to(arrival.remote);
  header.traffic_class = static_cast<std::uint8_t>(by.dscp << 2);
  header.has_mac = true;
  header.mac = arrival.from;
  return push(e, header, out, &out.options);
}

[[gnu::cold]] bool aborts_with_reset(const Connection& c) {
  //= rfc9293#3.10.5
  //# 9293:P-ABORT, 9293:P-ABORT-FLUSH a reset in SYN-RECEIVED to CLOSE-WAIT
  //# 9293:P-ABORT-SYNSENT, 9293:P-ABORT-CLOSING no reset in SYN-SENT, CLOSING, LAST-ACK
  // In these the FIN has left; while it still waits behind data, the peer must learn of the end.
  bool const closing = c.state == State::closing || c.state == State::last_ack;
  return c.state != State::syn_sent && !(closing && c.fin_sent);
}

namespace {

// `acknowledges`: with an ACK, as Config may say.
[[gnu::cold]] void send_reset_with(Engine& e, Connection& c, Sequence sequence, bool acknowledges) {
  wire::Segment reset;
  reset.source = c.local_port;
  reset.destination = c.remote_port;
  //= rfc9293#3.10.5
  //# 9293:P-ABORT <SEQ=SND.NXT><CTL=RST>
  reset.sequence = sequence;
  reset.flags = wire::flag::rst;
  // Before our SYN has left the peer is in SYN-SENT, where a reset must acknowledge its SYN.
  bool const unanswered = c.state == State::syn_received && c.send.nxt == c.send.iss;
  bool const known = acknowledges && c.state != State::syn_sent;
  if (unanswered || known) {
    reset.flags = wire::flag::rst | wire::flag::ack;
    reset.acknowledgment = c.receive.nxt;
    reset.options.timestamp_echo = c.options.ts_recent;
  }
  if (known) {
    Bytes const window = c.receive.edge.since(c.receive.nxt);
    reset.window = window_to_wire(window, c.options.receive_scale);
  }
  //= rfc7323#3.2
  //# 7323:TS-26 a reset has a timestamp too
  //# 7323:TS-28 TSecr is zero, unless it has an ACK
  //= rfc7323#5.2
  //# 7323:TS-43 also in the application's abort
  if (c.options.has(negotiated::timestamps)) {
    reset.options.has_timestamps = true;
    reset.options.timestamp_value = timestamp_at(e, c.options, e.state->now);
  }
  internet::ReplyHeader header;
  header.source = e.local_of(c);
  header.destination = c.remote;
  header.time_to_live = c.ttl;
  header.traffic_class = static_cast<std::uint8_t>(c.dscp << 2);
  e.counters->resets_sent += push(e, header, reset, &reset.options) ? 1 : 0;
}

}  // namespace

[[gnu::cold]] void send_reset(Engine& e, Connection& c) {
  send_reset_with(e, c, bare_sequence(c), e.config.reset_acknowledges);
}

// In answer to a segment, which has an ACK.
[[gnu::cold]] void send_reset_at(Engine& e, Connection& c, Sequence sequence) {
  send_reset_with(e, c, sequence, false);
}

void send_time_wait_ack(Engine& e, const TimeWait& record) {
  wire::Header ack;
  ack.source = record.local_port;
  ack.destination = record.remote_port;
  ack.sequence = record.send_nxt;
  ack.acknowledgment = record.receive_nxt;
  ack.flags = wire::flag::ack;
  ack.window = window_to_wire(record.receive_wnd, record.options.receive_scale);
  internet::ReplyHeader header;
  header.source = e.addresses[record.local_address];
  header.destination = record.remote;
  header.time_to_live = record.ttl;
  header.traffic_class = static_cast<std::uint8_t>(record.dscp << 2);
  if (!record.options.has(negotiated::timestamps)) {
    static_cast<void>(push(e, header, ack, nullptr));
    return;
  }
  wire::Options options;
  options.has_timestamps = true;
  options.timestamp_value = timestamp_at(e, record.options, e.state->now);
  options.timestamp_echo = record.options.ts_recent;
  static_cast<void>(push(e, header, ack, &options));
}

}  // namespace lockstep::tcp
