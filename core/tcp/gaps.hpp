// Limits on data stored above gaps: a share for each remote host; old data is evicted under
// pressure.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp::gaps {

// Whether the connection may have one more range, if the pool has one.
bool may_add_range(const Engine& e, const InFlightState& a);
// Whether `missing` more blocks and, if `fresh`, one more range may be stored above a gap of this
// connection. Evicts data above old gaps of other connections if necessary. O(1) plus the
// evictions.
bool make_room(Engine& e, const Connection& c, const InFlightState& a, Count missing, bool fresh);

// Data in order does not fit: discards what this connection stores above its gap, or the oldest of
// others if that is old. False if there is none.
bool discard_for(Engine& e, Connection& c);

// Account for blocks or one range above gaps that the connection has gained or released.
void add_blocks(Engine& e, const Connection& c, InFlightState& a, Count blocks);
void remove_blocks(Engine& e, const Connection& c, InFlightState& a, Count blocks);
void add_range(Engine& e, const Connection& c, InFlightState& a);
void remove_range(Engine& e, const Connection& c, InFlightState& a);
// RCV.NXT advanced, or the first range was stored: restarts the age of the gap.
void renew(Engine& e, InFlightState& a);

}  // namespace lockstep::tcp::gaps

namespace lockstep::tcp {

// The last range above a gap that ends before `begin`; nil: none. O(1) if all do, as when data
// arrives in the order in which it was sent; otherwise it walks the ranges.
inline Index extent_below(const Engine& e, const InFlightState& a, Sequence begin) {
  if (a.extents != nil && e.extents[a.extent_last].end.before(begin)) {
    return a.extent_last;
  }
  Index below = nil;
  for (Index i = a.extents; i != nil && e.extents[i].end.before(begin); i = e.extents[i].next) {
    below = i;
  }
  return below;
}

// The range after it; the first one if it is nil.
inline Index extent_after(const Engine& e, const InFlightState& a, Index extent) {
  return extent == nil ? a.extents : e.extents[extent].next;
}

}  // namespace lockstep::tcp
