// Delivery rate and round-trip time of each ACK, from marks on the segments in flight.
#include "core/tcp/congestion/rate.hpp"

#include <algorithm>

#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/output.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

constexpr std::uint32_t marks_per_window = 32;
// Marks are spaced by a share of cwnd, and the flight may exceed cwnd slightly.
constexpr std::uint32_t marks_per_connection = 2 * marks_per_window;

Index pop_mark(Engine& e, Marks& marks) {
  Index const index = marks.first;
  marks.first = e.marks[index].next;
  if (marks.first == nil) {
    marks.last = nil;
  }
  --marks.count;
  return index;
}

}  // namespace

void mark_segment(Engine& e, Connection& c, Bytes flight) {
  InFlightState& a = e.active(c);
  Marks& marks = a.marks;
  Instant const now = e.state->now;
  if (flight.empty()) {
    // Nothing was in flight: a rate must not include the idle time.
    marks.first_sent_at = now;
    marks.delivered_at = now;
  }
  // All queued data is sent and the window has space: rate samples from here on are limited by the
  // application.
  marks.limited_until = last_of(marks.limited_until, c.send.una);
  bool const all_sent = c.send.nxt.at_or_after(queue_begin(c) + a.send.length());
  if (all_sent && flight_size(c) + Bytes{c.mss} <= c.congestion.cwnd) {
    marks.limited_until = c.send.nxt;
  }
  bool const near = marks.last != nil && c.send.nxt.since(e.marks[marks.last].end).count <
                                             c.congestion.cwnd.count / marks_per_window;
  if (near || marks.count >= marks_per_connection) {
    return;
  }
  Index const index = e.marks.take();
  if (index == nil) {
    return;
  }
  e.marks[index] = {c.send.nxt,
                    c.send.una,
                    now,
                    marks.delivered_at,
                    marks.first_sent_at,
                    nil,
                    marks.limited_until.after(c.send.una)};
  (marks.last == nil ? marks.first : e.marks[marks.last].next) = index;
  marks.last = index;
  ++marks.count;
}

void drop_marks(Engine& e, InFlightState& a) {
  while (a.marks.first != nil) {
    e.marks.give(pop_mark(e, a.marks));
  }
}

RateSample sample_rate(Engine& e, Connection& c) {
  Marks& marks = e.active(c).marks;
  RateSample sample;
  TxStamp newest;
  while (marks.first != nil && e.marks[marks.first].end.at_or_before(c.send.una)) {
    Index const index = pop_mark(e, marks);
    newest = e.marks[index];
    e.marks.give(index);
    sample.valid = true;
  }
  Instant const now = e.state->arrived;
  marks.delivered_at = now;
  if (!sample.valid) {
    return sample;
  }
  // The longer of the two: neither compressed ACKs nor a burst sent at once may look like a fast
  // path.
  Duration const sending = newest.sent_at.since(newest.first_sent_at);
  Duration const acknowledging = now.since(newest.delivered_at);
  sample.delivered = c.send.una.since(newest.delivered);
  sample.interval = std::max(sending, acknowledging);
  sample.rtt = now.since(newest.sent_at);
  sample.limited = newest.limited;
  marks.first_sent_at = newest.sent_at;
  sample.valid = is_timed(*e.state);
  return sample;
}

}  // namespace lockstep::tcp
