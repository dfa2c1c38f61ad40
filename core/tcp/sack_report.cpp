// The SACK blocks that our ACKs report: data above gaps, and duplicates (RFC 2018, 2883).
#include "core/tcp/sack_report.hpp"

#include <algorithm>

#include "core/tcp/gaps.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

constexpr std::uint32_t fixed_bytes = 4;  // two NOPs, kind and length
constexpr std::uint32_t block_bytes = 8;
// With a smaller MSS a data segment carries no report: it would be mostly header.
constexpr std::uint32_t mss_with_report = 128;

//= rfc2018#3
//# 2018:SACK-13 at most four blocks, three beside timestamps
std::uint32_t blocks_max(const Connection& c) {
  std::uint32_t const most = c.options.has(negotiated::timestamps) ? 3 : wire::sack_blocks_max;
  return std::min(most, (std::max(std::uint32_t{c.mss}, fixed_bytes) - fixed_bytes) / block_bytes);
}

// Whether `a` was reported later than `b`; stamps wrap.
bool newer(const Extent& a, const Extent& b) {
  return static_cast<std::int32_t>(a.stamp - b.stamp) > 0;
}

//= rfc2018#3
//# 2018:SACK-14 whole ranges between two gaps
//= rfc2018#4
//# 2018:SACK-5, 2018:SACK-6 the one with the newest segment first, then by the time they last grew
//= rfc2018#8
//# 2018:SACK-17 all of it is still stored: discarded data is in no range
void add_extents(const Engine& e, const InFlightState& a, std::uint32_t limit, Report& report) {
  std::array<Index, wire::sack_blocks_max> chosen{};
  std::uint32_t count = 0;
  std::uint32_t const room = limit - report.count;
  for (Index i = a.extents; i != nil; i = e.extents[i].next) {
    if (count == room && (room == 0 || !newer(e.extents[i], e.extents[chosen[count - 1]]))) {
      continue;
    }
    std::uint32_t at = count == room ? count - 1 : count;
    for (; at != 0 && newer(e.extents[i], e.extents[chosen[at - 1]]); --at) {
      chosen[at] = chosen[at - 1];
    }
    chosen[at] = i;
    count = std::min(count + 1, room);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    report.blocks[report.count] = {e.extents[chosen[i]].begin, e.extents[chosen[i]].end};
    ++report.count;
  }
}

// The complete report of now. A pending duplicate is then no longer pending.
Report report_now(const Engine& e, InFlightState& a, std::uint32_t limit) {
  Report report;
  if (a.has_duplicate && limit != 0) {
    //= rfc2883#4
    //# 2883:DSACK-1, 2883:DSACK-3, 2883:DSACK-7 first the duplicate's own edges, once
    report.blocks[0] = {a.duplicate_begin, a.duplicate_end};
    report.count = 1;
    report.duplicate = true;
    a.has_duplicate = false;
  }
  //= rfc2883#4
  //# 2883:DSACK-4, 2883:DSACK-5 then the range that contains it, if it is above a gap; the
  //# duplicate made it the newest
  add_extents(e, a, limit, report);
  return report;
}

}  // namespace

void note_duplicate(InFlightState& a, const Range& range) {
  a.has_duplicate = true;
  a.duplicate_begin = range.begin;
  a.duplicate_end = range.end;
}

void find_duplicate(const Engine& e, const Connection& c, InFlightState& a,
                    const wire::Segment& segment) {
  Sequence const begin = segment.flags.syn() ? segment.sequence.next() : segment.sequence;
  Sequence const end = begin + Bytes{static_cast<std::uint32_t>(segment.payload.size())};
  if (!e.config.dsack || !begin.before(end)) {
    return;
  }
  if (begin.before(c.receive.nxt)) {
    note_duplicate(a, {begin, first_of(end, c.receive.nxt)});
    return;
  }
  //= rfc2883#4.2
  //# 2883:DSACK-6 only the first of several duplicate parts
  Index const first = extent_after(e, a, extent_below(e, a, begin));
  for (Index i = first; i != nil && e.extents[i].begin.before(end); i = e.extents[i].next) {
    if (e.extents[i].end.after(begin)) {
      note_duplicate(a, {last_of(begin, e.extents[i].begin), first_of(end, e.extents[i].end)});
      return;
    }
  }
}

void attach_report(Engine& e, const Connection& c, InFlightState& a, Index index) {
  PendingAck& pending = e.pending_acks[index];
  pending.report_count = 0;
  pending.report_duplicate = false;
  if (!c.sack || (a.extents == nil && !a.has_duplicate)) {
    return;
  }
  Report const report = report_now(e, a, blocks_max(c));
  pending.report_count = report.count;
  pending.report_duplicate = report.duplicate;
  e.reports[index] = report.blocks;
}

void keep_duplicate(const Engine& e, InFlightState& a, Index index) {
  // Of two duplicates the newer one is reported.
  if (e.pending_acks[index].report_duplicate && !a.has_duplicate) {
    note_duplicate(a, {e.reports[index][0].begin, e.reports[index][0].end});
  }
}

//= rfc2018#4
//# 2018:SACK-2, 2018:SACK-3, 2018:SACK-4, 2018:SACK-15 every ACK while there is data above a gap,
//# if the peer permitted SACK
//= rfc2018#3
//# 2018:SACK-21 in addition to the ACK field, whose meaning does not change
Report pop_sack_report(Engine& e, Connection& c, const SegmentPlan& plan) {
  Report report;
  InFlightState& a = e.active(c);
  if (plan.syn || plan.kind == PlanKind::keepalive) {
    return report;
  }
  if (plan.kind == PlanKind::ack && a.pending_ack_first != nil) {
    PendingAck const& pending = e.pending_acks[a.pending_ack_first];
    // The path MTU may have decreased since the ACK was queued: leave out the oldest blocks.
    report.count =
        static_cast<std::uint8_t>(std::min(std::uint32_t{pending.report_count}, blocks_max(c)));
    if (report.count != 0) {
      report.blocks = e.reports[a.pending_ack_first];
    }
    return report;
  }
  // This segment replaces the pending ACKs, which are all older.
  for (Index i = a.pending_ack_first; i != nil; i = e.pending_acks[i].next) {
    keep_duplicate(e, a, i);
    e.pending_acks[i].report_duplicate = false;
  }
  if (a.extents != nil || a.has_duplicate) {
    // As many blocks as the plan has left space for.
    std::uint32_t const taken = plan.data.count + fixed_bytes;
    std::uint32_t const room = c.mss - std::min(taken, std::uint32_t{c.mss});
    report = report_now(e, a, std::min(blocks_max(c), room / block_bytes));
  }
  return report;
}

std::uint32_t eff_snd_mss_beside_sack(const Connection& c, const InFlightState& a) {
  if (c.mss < mss_with_report) {
    return c.mss;
  }
  std::uint32_t const wanted = a.extent_count + (a.has_duplicate ? 1u : 0u);
  return c.mss - fixed_bytes - std::min(wanted, blocks_max(c)) * block_bytes;
}

}  // namespace lockstep::tcp
