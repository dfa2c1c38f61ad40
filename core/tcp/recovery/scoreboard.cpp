// The scoreboard: all data in flight, as ranges whose octets have the same status.
#include "core/tcp/recovery/scoreboard.hpp"

#include "core/tcp/congestion/adapter.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

Bytes length_of(const Sent& r) { return r.end.since(r.begin); }

// How often SetPipe counts each octet of the range.
std::uint32_t copies_of(const Sent& r) { return (r.lost ? 0u : 1u) + (r.retransmitted ? 1u : 0u); }

// In flight, sent once.
bool is_plain(const Sent& r) { return !r.sacked && !r.lost && !r.retransmitted && !r.ever; }

}  // namespace

void Scoreboard::count(const Sent& r) {
  Bytes const length = length_of(r);
  if (r.sacked) {
    s_.sacked += length;
    ++s_.runs;
    return;
  }
  s_.pipe += Bytes{length.count * copies_of(r)};
  s_.lost_not_retransmitted += r.lost && !r.retransmitted ? length : Bytes{};
}

void Scoreboard::uncount(const Sent& r) {
  Bytes const length = length_of(r);
  if (r.sacked) {
    s_.sacked -= length;
    --s_.runs;
    return;
  }
  s_.pipe -= Bytes{length.count * copies_of(r)};
  s_.lost_not_retransmitted -= r.lost && !r.retransmitted ? length : Bytes{};
}

void Scoreboard::enlist(Index index) {
  if (ages(at(index))) {
    age_.push_back(index);
  }
}

void Scoreboard::delist(Index index) {
  if (age_.linked(index)) {
    age_.remove(index);
  }
}

// The last quarter of the records is for scoreboards with few ranges: one that is already split
// into many does not take the record that another connection needs to find its first loss.
Index Scoreboard::take() {
  constexpr std::uint32_t few = 16;
  bool const scarce = e_.sent.available() <= e_.config.sent_max.value / 4;
  if (order_.count() >= e_.config.sent_per_connection.value || (scarce && order_.count() >= few)) {
    return nil;
  }
  Index const index = e_.sent.take();
  if (index != nil) {
    edit(index) = Sent{};
  }
  return index;
}

void Scoreboard::remove(Index index) {
  if (s_.search == index) {
    s_.search = order_.previous(index);
  }
  if (s_.highest == index) {
    s_.highest = nil;
  }
  delist(index);
  order_.remove(index);
  e_.sent.give(index);
}

bool Scoreboard::alike(const Sent& left, const Sent& right) const {
  if (left.sacked || right.sacked) {
    return left.sacked && right.sacked;
  }
  bool const same = left.lost == right.lost && left.retransmitted == right.retransmitted &&
                    left.ever == right.ever;
  return same && (left.sent_at == right.sent_at || !ages(left));
}

void Scoreboard::absorb_next(Index index) {
  Index const next = order_.next(index);
  Sent& left = edit(index);
  uncount(left);
  uncount(at(next));
  left.end = at(next).end;
  if (s_.highest == next) {
    s_.highest = index;
  }
  if (s_.search == next) {
    s_.search = index;
  }
  remove(next);
  count(left);
}

// Merges the range with neighbours of the same status. Returns the range that contains it now.
Index Scoreboard::join(Index index) {
  Index const previous = order_.previous(index);
  if (previous != nil && alike(at(previous), at(index))) {
    absorb_next(previous);
    index = previous;
  }
  Index const next = order_.next(index);
  if (next != nil && alike(at(index), at(next))) {
    absorb_next(index);
  }
  return index;
}

// Frees a record by merging two neighbouring ranges, near the highest octet and other than `kept`,
// that are in flight and were sent once. Both get the later time of transmission, which only delays
// the detection of their loss. At most 32 steps.
bool Scoreboard::merge_plain(Index kept) {
  constexpr std::uint32_t steps_max = 32;
  Index right = order_.last();
  for (std::uint32_t i = 0; i != steps_max && order_.previous(right) != nil; ++i) {
    Index const left = order_.previous(right);
    if (left != kept && right != kept && is_plain(at(left)) && is_plain(at(right))) {
      if (at(left).sent_at < at(right).sent_at) {
        edit(left).sent_at = at(right).sent_at;
        delist(left);
        if (age_.linked(right)) {
          age_.insert_after(right, left);
        }
      }
      absorb_next(left);
      return true;
    }
    right = left;
  }
  return false;
}

// Clears the SACKed flag of the lowest such range that ends before `below`; its octets get the
// status of those before them. At worst they are retransmitted unnecessarily.
bool Scoreboard::forget_lowest(Sequence below) {
  for (Index i = order_.first(); i != nil && at(i).end.before(below); i = order_.next(i)) {
    if (at(i).sacked && order_.previous(i) != nil) {
      Index const previous = order_.previous(i);
      absorb_next(previous);
      // It was the only SACKed one, except perhaps one at SND.UNA.
      if (s_.highest == previous) {
        s_.highest = at(order_.first()).sacked ? order_.first() : nil;
      }
      ++e_.counters->sacks_forgotten;
      return true;
    }
  }
  return false;
}

// Splits a range at `where`. False: no record is free, no ranges can be merged and no SACK
// information can be discarded to free one.
bool Scoreboard::cut(Index index, Sequence where) {
  Index fresh = take();
  if (fresh == nil && merge_plain(index)) {
    fresh = take();
  }
  if (fresh == nil && forget_lowest(at(index).begin)) {
    fresh = take();
  }
  if (fresh == nil) {
    return false;
  }
  Sent& left = edit(index);
  CHECK(where.after(left.begin));
  CHECK(where.before(left.end));
  Sent& right = edit(fresh);
  memory::Link const unlinked = right.order;
  uncount(left);
  right = left;
  right.order = unlinked;
  right.age = unlinked;
  right.begin = where;
  left.end = where;
  count(left);
  count(right);
  if (added::possible(e_)) [[unlikely]] {
    e_.stamps[fresh] = e_.stamps[index];
  }
  order_.insert_after(index, fresh);
  if (age_.linked(index)) {
    age_.insert_after(index, fresh);
  }
  return true;
}

bool Scoreboard::begin(const Range& range, Instant sent_at) {
  CHECK(!tracks());
  Index const index = take();
  if (index == nil) {
    return false;
  }
  s_ = ScoreboardState{};
  Sent& r = edit(index);
  r.begin = range.begin;
  r.end = range.end;
  r.sent_at = sent_at;
  s_.fack = range.begin;
  order_.push_back(index);
  enlist(index);
  count(r);
  if (added::possible(e_)) [[unlikely]] {
    added::stamp(e_, owner_, index, sent_at == e_.state->now);
  }
  return true;
}

void Scoreboard::sent(Sequence end) {
  Index const index = order_.last();
  Sent& last = edit(index);
  CHECK(end.after(last.end));
  bool const plain = is_plain(last);
  if (plain && last.sent_at == stamp()) {
    s_.pipe += end.since(last.end);
    last.end = end;
    if (added::possible(e_)) [[unlikely]] {
      e_.stamps[index].in_flight = s_.pipe;
    }
    return;
  }
  Index fresh = take();
  if (fresh == nil && plain) {
    // No free record: the whole range gets the later transmission time, which only delays its loss.
    uncount(last);
    last.end = end;
    last.sent_at = stamp();
    delist(index);
    enlist(index);
    count(last);
    return;
  }
  if (fresh == nil && forget_lowest(last.begin)) {
    fresh = take();
  }
  if (fresh == nil) {
    give_up();
    return;
  }
  Sent& r = edit(fresh);
  r.begin = last.end;
  r.end = end;
  r.sent_at = stamp();
  order_.push_back(fresh);
  enlist(fresh);
  count(r);
  if (added::possible(e_)) [[unlikely]] {
    added::stamp(e_, owner_, fresh, true);
  }
}

//= rfc8985#6.1
//# 8985:RACK-12 the time of the last transmission, and that it was a retransmission
void Scoreboard::record_retransmission(Sequence begin, Sequence end) {
  Index i = find(begin);
  while (i != nil && at(i).begin.before(end)) {
    bool const skip = at(i).sacked || at(i).end.at_or_before(begin);
    if (!skip && begin.after(at(i).begin)) {
      if (!cut(i, begin)) {
        break;
      }
      i = order_.next(i);
    }
    if (!skip && at(i).end.after(end) && !cut(i, end)) {
      break;
    }
    if (!skip) {
      Sent& r = edit(i);
      uncount(r);
      r.retransmitted = true;
      r.ever = true;
      r.sent_at = stamp();
      delist(i);
      enlist(i);
      count(r);
      if (added::possible(e_)) [[unlikely]] {
        added::stamp(e_, owner_, i, true);
      }
      i = join(i);
    }
    i = order_.next(i);
  }
  bool const failed = i != nil && at(i).begin.before(end);
  if (failed) {
    give_up();
  }
}

void Scoreboard::give_up() {
  Index const lost = next_lost();
  gave_up_ = true;
  lost_from_ = lost == nil ? at(order_.last()).end : at(lost).begin;
  ++e_.counters->scoreboards_dropped;
  clear();
}

// The range that contains `where`, or the next one. O(1) near the ends and near the last hole.
Index Scoreboard::find(Sequence where) const {
  Index from = order_.first();
  for (Index hint : {s_.search, s_.highest, order_.last()}) {
    if (hint != nil && at(hint).begin.at_or_before(where)) {
      from = at(hint).begin.after(at(from).begin) ? hint : from;
    }
  }
  // Usually it is in a hole just below the highest SACKed range.
  Index const high = s_.highest;
  if (high != nil && at(high).begin.after(where) &&
      at(high).begin.since(where) < where.since(at(from).begin)) {
    from = high;
    while (at(from).begin.after(where) && order_.previous(from) != nil) {
      from = order_.previous(from);
    }
  }
  while (from != nil && at(from).end.at_or_before(where)) {
    from = order_.next(from);
  }
  return from;
}

void Scoreboard::deliver(Index index, Sequence end, Delivery delivery, AckSample& news) {
  Sent const& r = at(index);
  news.delivered += end.since(r.begin);
  if (added::possible(e_)) [[unlikely]] {
    added::deliver(e_, owner_, index, end.since(r.begin));
  }
  if (!e_.config.rack) {
    return;
  }
  //= rfc8985#6.2
  //# 8985:RACK-14, 8985:RACK-5 fack is the highest octet delivered; data below it that was never
  //# retransmitted arrived out of order
  if (end.after(s_.fack)) {
    s_.fack = end;
  } else if (end.before(s_.fack) && !r.ever) {
    news.reordered = true;
    news.overtaken = most(news.overtaken, s_.fack.since(r.begin));
  }
  //= rfc8985#6.2
  //# 8985:RACK-4 not if it was retransmitted and the echo is older or the ACK too early
  // Above a gap the echo is that of the last in-order segment (RFC 7323, 4.3): it shows nothing
  // about this one and must not hide a loss that a delivered tail loss probe reveals.
  auto const left = static_cast<std::uint32_t>(r.sent_at.ns / e_.config.timestamp_tick.ns);
  bool const other = delivery == Delivery::in_order && news.has_echo && is_older({news.echo, left});
  if (r.ever && (other || news.arrived.since(r.sent_at) < news.least_rtt)) {
    return;
  }
  //= rfc8985#6.2
  //# 8985:RACK-13 of two sent at the same time the one that ends later was sent later
  bool const later = !news.has_newest || r.sent_at > news.newest.sent_at ||
                     (r.sent_at == news.newest.sent_at && end.after(news.newest.end));
  if (later) {
    news.has_newest = true;
    news.newest = {end, r.sent_at, r.ever};
  }
}

void Scoreboard::acknowledge(Sequence ack, AckSample& news) {
  s_.has_edge = s_.has_edge && s_.edge.after(ack);
  while (tracks()) {
    Index const index = order_.first();
    Sent& r = edit(index);
    if (!r.begin.before(ack)) {
      return;
    }
    Sequence const end = first_of(r.end, ack);
    if (!r.sacked) {
      deliver(index, end, Delivery::in_order, news);
    }
    uncount(r);
    if (end == r.end) {
      remove(index);
      continue;
    }
    r.begin = ack;
    count(r);
  }
}

//= rfc6675#5
//# 6675:S6675-8 each SACKed octet is marked
void Scoreboard::sack(Sequence begin, Sequence end, AckSample& news) {
  Index i = find(begin);
  while (i != nil && at(i).begin.before(end)) {
    if (at(i).sacked) {
      i = order_.next(i);
      continue;
    }
    if (begin.after(at(i).begin)) {
      if (!cut(i, begin)) {
        break;
      }
      i = order_.next(i);
    }
    if (at(i).end.after(end) && !cut(i, end)) {
      break;
    }
    Sent& r = edit(i);
    deliver(i, r.end, Delivery::above_gap, news);
    news.newly_sacked += length_of(r);
    uncount(r);
    delist(i);
    r.sacked = true;
    r.lost = false;
    r.retransmitted = false;
    count(r);
    i = join(i);
    if (s_.highest == nil || at(i).begin.after(at(s_.highest).begin)) {
      s_.highest = i;
    }
    i = order_.next(i);
  }
  e_.counters->sacks_forgotten += i != nil && at(i).begin.before(end) ? 1 : 0;
}

bool Scoreboard::sacked_enough(const Connection& c) const {
  std::uint64_t const threshold = e_.config.duplicate_acks.value;
  return s_.runs >= threshold || s_.sacked.count > (threshold - 1) * c.mss;
}

//= rfc6675#4
//# 6675:S6675-3 DupThresh ranges, or more than DupThresh - 1 segments' worth of octets, above it
void Scoreboard::lose_below_edge(const Connection& c) {
  std::uint64_t const threshold = e_.config.duplicate_acks.value;
  std::uint64_t ranges = 0;
  std::uint64_t octets = 0;
  Index i = s_.highest;
  while (i != nil) {
    if (at(i).sacked) {
      ++ranges;
      octets += length_of(at(i)).count;
      if (ranges >= threshold || octets > (threshold - 1) * c.mss) {
        break;
      }
    }
    i = order_.previous(i);
  }
  if (i == nil || (s_.has_edge && !at(i).begin.after(s_.edge))) {
    return;
  }
  Sequence const edge = at(i).begin;
  i = order_.previous(i);
  while (i != nil && !(s_.has_edge && at(i).end.at_or_before(s_.edge))) {
    Index const previous = order_.previous(i);
    if (!at(i).sacked && !at(i).lost && at(i).retransmitted) {
      //= rfc6675#4
      //# 6675:S6675-4 not above HighRxt: it is in flight again, as the first segment of a recovery
      Sent& r = edit(i);
      uncount(r);
      r.lost = true;
      count(r);
      static_cast<void>(join(i));
    } else if (!at(i).sacked && !at(i).lost) {
      static_cast<void>(lose(i));
    }
    i = previous;
  }
  s_.edge = edge;
  s_.has_edge = true;
}

Index Scoreboard::lose(Index index) {
  Sent& r = edit(index);
  CHECK(!r.sacked);
  if (added::possible(e_) && copies_of(r) != 0) [[unlikely]] {
    added::note_lost(e_, owner_, length_of(r));
  }
  uncount(r);
  r.lost = true;
  r.retransmitted = false;
  delist(index);
  count(r);
  if (s_.search != nil && at(s_.search).begin.after(r.begin)) {
    s_.search = index;
  }
  return join(index);
}

void Scoreboard::lose_all() {
  for (Index i = order_.first(); i != nil; i = order_.next(i)) {
    if (!at(i).sacked) {
      i = lose(i);
    }
  }
}

void Scoreboard::lose_older(Duration age) {
  Instant const now = e_.state->now;
  for (Index i = order_.first(); i != nil; i = order_.next(i)) {
    if (!at(i).sacked && (i == order_.first() || at(i).sent_at + age <= now)) {
      i = lose(i);
    }
  }
}

void Scoreboard::clear_lost() {
  s_.search = nil;
  for (Index i = order_.first(); i != nil; i = order_.next(i)) {
    Sent& r = edit(i);
    if (r.lost) {
      uncount(r);
      // With RACK its transmission time becomes now: the list by age stays sorted.
      r.sent_at = r.retransmitted ? r.sent_at : stamp();
      r.lost = false;
      count(r);
      if (!age_.linked(i)) {
        enlist(i);
      }
      i = join(i);
    }
  }
  s_.has_edge = false;
}

void Scoreboard::lose_all_and_forget() {
  Index const index = order_.first();
  Sequence const end = at(order_.last()).end;
  if (added::possible(e_)) [[unlikely]] {
    added::note_lost(e_, owner_, s_.pipe);
  }
  while (order_.count() > 1) {
    remove(order_.last());
  }
  delist(index);
  Sent& r = edit(index);
  r.end = end;
  r.sacked = false;
  r.lost = true;
  r.retransmitted = false;
  r.ever = true;
  Sequence const fack = s_.fack;
  memory::ListHead const order = s_.order;
  s_ = ScoreboardState{};
  s_.order = order;
  s_.fack = fack;
  count(r);
}

void Scoreboard::forget_retransmissions() {
  s_.search = nil;
  for (Index i = order_.first(); i != nil; i = order_.next(i)) {
    Sent& r = edit(i);
    if (r.retransmitted) {
      uncount(r);
      r.retransmitted = false;
      delist(i);
      enlist(i);
      count(r);
      i = join(i);
    }
  }
}

Index Scoreboard::next_lost() {
  if (s_.lost_not_retransmitted.empty()) {
    return nil;
  }
  Index i = s_.search == nil ? order_.first() : s_.search;
  while (!at(i).lost || at(i).retransmitted) {
    i = order_.next(i);
    CHECK(i != nil);
  }
  s_.search = i;
  return i;
}

Index Scoreboard::next_doubtful() const {
  if (s_.highest == nil) {
    return nil;
  }
  for (Index i = order_.first(); i != s_.highest; i = order_.next(i)) {
    if (!at(i).sacked && !at(i).retransmitted) {
      return i;
    }
  }
  return nil;
}

Index Scoreboard::last_unsacked() const {
  Index i = order_.last();
  while (i != nil && at(i).sacked) {
    i = order_.previous(i);
  }
  return i;
}

void Scoreboard::clear() {
  while (tracks()) {
    Index const index = order_.first();
    s_.search = nil;
    remove(index);
  }
  s_ = ScoreboardState{};
}

void Scoreboard::check(const Connection& c) const {
  if (!tracks()) {
    CHECK(age_.empty());
    CHECK(s_.pipe.empty());
    return;
  }
  CHECK(at(order_.first()).begin == c.send.una);
  CHECK(at(order_.last()).end == c.send.nxt);
  CHECK(order_.count() <= e_.config.sent_per_connection.value);
  ScoreboardState sums;
  Index highest = nil;
  bool awaits = false;
  bool reached = s_.search == nil;
  Sequence end = c.send.una;
  for (Index i = order_.first(); i != nil; i = order_.next(i)) {
    Sent const& r = at(i);
    CHECK(r.begin == end);
    CHECK(r.end.after(r.begin));
    CHECK(age_.linked(i) == ages(r));
    CHECK(!r.sacked || (!r.lost && !r.retransmitted));
    end = r.end;
    highest = r.sacked ? i : highest;
    reached = reached || i == s_.search;
    awaits = awaits || (!reached && r.lost && !r.retransmitted);
    Bytes const length = length_of(r);
    sums.sacked += r.sacked ? length : Bytes{};
    sums.runs += r.sacked ? 1 : 0;
    sums.pipe += r.sacked ? Bytes{} : Bytes{length.count * copies_of(r)};
    sums.lost_not_retransmitted += r.lost && !r.retransmitted ? length : Bytes{};
  }
  CHECK(reached);
  CHECK(!awaits);
  CHECK(highest == s_.highest);
  CHECK(sums.sacked == s_.sacked);
  CHECK(sums.runs == s_.runs);
  CHECK(sums.pipe == s_.pipe);
  CHECK(sums.lost_not_retransmitted == s_.lost_not_retransmitted);
}

}  // namespace lockstep::tcp
