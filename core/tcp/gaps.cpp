// Limits on data stored above gaps: a share for each remote host; old data is evicted under
// pressure.
#include "core/tcp/gaps.hpp"

#include <algorithm>

#include "core/tcp/reassembly.hpp"
#include "core/tcp/resources.hpp"
#include "core/units/check.hpp"
#include "core/units/hash.hpp"

namespace lockstep::tcp::gaps {
namespace {

// A loss is repaired within a few timeouts: older gaps give way to newer ones.
constexpr Duration age_least = Duration::seconds(3);
// At most this many connections lose their data above gaps for one segment.
constexpr std::uint32_t victims_max = 4;
// Data of others is evicted only for a remote that holds less than this fraction of the total.
constexpr std::uint32_t modest_part = 16;
// Half of all ranges are only for connections with fewer than this. Linux has no limit but the
// receive buffer: half of the segments of a large window may be missing, if slow start overshoots.
constexpr std::uint32_t few_ranges = 32;

// What this remote holds, including remotes with the same hash value. An IPv6 remote is a /64.
GapUse& use_of(const Engine& e, const Connection& c) {
  std::uint64_t const low = c.remote.is_v4() ? c.remote.low : 0;
  std::uint64_t const hash = TableHash(e.config.table_key).add(c.remote.high).add(low).finish();
  return e.gap_uses[static_cast<Index>(hash % e.gap_uses.count())];
}

// For one pool: the capacity for gaps, the total use, the use of this remote, its request.
struct Demand {
  std::uint32_t capacity = 0;
  std::uint32_t used = 0;
  std::uint32_t own = 0;
  std::uint32_t more = 0;

  // No remote holds more than twice what is free: at most two thirds of the total, and some space
  // stays free for the next one.
  bool fits() const {
    return more == 0 || (used + more <= capacity && own + more <= 2 * (capacity - used));
  }
  bool modest() const { return own + more <= std::max(1u, capacity / modest_part); }
};

struct Demands {
  Demand blocks;
  Demand ranges;
  bool kept_free = false;  // what in-order data and writing need stays free

  bool fit() const { return kept_free && blocks.fits() && ranges.fits(); }
  bool modest() const { return blocks.modest() && ranges.modest(); }
};

Demands demands_of(const Engine& e, const Connection& c, Count missing, bool fresh) {
  memory::Blocks const& blocks = e.pools.blocks;
  GapUse const& use = use_of(e, c);
  Demands out;
  // A peer can leave a gap open forever, so all gaps together get at most half of the store, and
  // never the blocks needed to receive in order, to open windows and to write.
  std::uint32_t const kept =
      std::max(2 * e.config.reserve_blocks.value, blocks_kept_from(e, Reading::behind));
  out.kept_free = missing.value + kept <= blocks.room_to_receive();
  out.blocks = {blocks.capacity() / 2, e.state->gap_blocks, use.blocks, missing.value};
  out.ranges = {e.extents.capacity(), e.extents.used(), use.ranges, fresh ? 1u : 0u};
  return out;
}

// Discards the data above the oldest gap, if it is old and not that of `a`.
bool discard_oldest(Engine& e, const InFlightState& a) {
  Index const oldest = e.gaps().first();
  if (oldest == nil || &e.actives[oldest] == &a ||
      e.state->now.since(e.actives[oldest].gap_since) < age_least) {
    return false;
  }
  give_up_gaps(e, e.connection(e.actives[oldest].owner));
  return true;
}

}  // namespace

[[gnu::cold]] bool may_add_range(const Engine& e, const InFlightState& a) {
  bool const scarce = e.extents.used() >= e.extents.capacity() / 2;
  std::uint32_t const most = e.config.extents_per_connection.value;
  return a.extent_count < (scarce ? std::min(most, few_ranges) : most);
}

[[gnu::cold]] bool discard_for(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  if (a.extents == nil) {
    return discard_oldest(e, a);
  }
  discard_above_gap(e, c, a);
  return true;
}

[[gnu::cold]] bool make_room(Engine& e, const Connection& c, const InFlightState& a, Count missing,
                             bool fresh) {
  Demands demands = demands_of(e, c, missing, fresh);
  for (std::uint32_t i = 0; i < victims_max && !demands.fit() && demands.modest(); ++i) {
    if (!discard_oldest(e, a)) {
      break;
    }
    demands = demands_of(e, c, missing, fresh);
  }
  return demands.fit();
}

[[gnu::cold]] void add_blocks(Engine& e, const Connection& c, InFlightState& a, Count blocks) {
  a.gap_blocks += blocks.value;
  e.state->gap_blocks += blocks.value;
  use_of(e, c).blocks += blocks.value;
}

[[gnu::cold]] void remove_blocks(Engine& e, const Connection& c, InFlightState& a, Count blocks) {
  CHECK(use_of(e, c).blocks >= blocks.value);
  a.gap_blocks -= blocks.value;
  e.state->gap_blocks -= blocks.value;
  use_of(e, c).blocks -= blocks.value;
}

[[gnu::cold]] void add_range(Engine& e, const Connection& c, InFlightState& a) {
  ++a.extent_count;
  ++use_of(e, c).ranges;
  if (a.extent_count == 1) {
    a.gap_since = e.state->now;
    e.gaps().push_back(c.active);
  }
}

[[gnu::cold]] void remove_range(Engine& e, const Connection& c, InFlightState& a) {
  CHECK(use_of(e, c).ranges != 0);
  --a.extent_count;
  --use_of(e, c).ranges;
  if (a.extent_count == 0) {
    e.gaps().remove(c.active);
  }
}

[[gnu::cold]] void renew(Engine& e, InFlightState& a) {
  Index const at = e.connection(a.owner).active;
  if (a.extent_count != 0) {
    a.gap_since = e.state->now;
    e.gaps().remove(at);
    e.gaps().push_back(at);
  }
}

}  // namespace lockstep::tcp::gaps
