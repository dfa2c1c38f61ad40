// What a connection may receive under pressure; and waiting lists, one for each resource for which
// a call can be refused.
#include "core/tcp/resources.hpp"

#include "core/tcp/gaps.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

// At most this many connections lose their data above gaps for one segment in order.
constexpr std::uint32_t discards_max = 4;

constexpr Resource kinds[] = {Resource::active, Resource::block, Resource::piece};
static_assert(std::size(kinds) == room_kinds);

std::uint32_t available(const Engine& e, Resource kind) {
  switch (kind) {
    case Resource::active:
      return e.actives.available();
    case Resource::block:
      return blocks_to_write(e);
    case Resource::piece:
      return e.pools.pieces.available();
    case Resource::none:
      break;
  }
  return 0;
}

// How many blocks are neither held nor promised for these octets.
std::uint32_t blocks_missing(const Engine& e, const InFlightState& a, Sequence begin,
                             Bytes length) {
  memory::Blocks const& blocks = e.pools.blocks;
  if (!a.receive.empty()) {
    return a.receive.blocks_missing(blocks, begin, length).value;
  }
  // Data lent before may end in the block in which this begins.
  bool const joins = a.loan_last != no_loan && a.receive.place_of(blocks, begin) != 0;
  return a.receive.blocks_touched(blocks, begin, length) - (joins ? 1 : 0);
}

}  // namespace

Reading reading_of(const Engine& e, const Connection& c, Sequence end) {
  Sequence stored = c.receive.read + unread_of(c);
  if (c.active != nil && e.active(c).loan_first != no_loan) {
    stored = e.loans[e.active(c).loan_first].begin;
  }
  if (c.receive.read.before(stored)) {
    return Reading::behind;
  }
  // Modulo 2^32: after every 4 GiB a connection starts again.
  std::uint32_t const read = c.receive.read.value - c.receive.irs.next().value;
  return end.since(c.receive.read).count > read ? Reading::little : Reading::ahead;
}

[[gnu::cold]] Bytes octets_to_receive(Engine& e, Connection& c, Sequence begin, Bytes length) {
  InFlightState& a = e.active(c);
  memory::Blocks const& blocks = e.pools.blocks;
  Reading const reading = reading_of(e, c, begin + length);
  bool first = false;
  std::uint32_t room = 0;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i <= discards_max; ++i) {
    std::uint32_t const missing = blocks_missing(e, a, begin, length);
    first = a.receive.empty() && a.promised == 0;
    room = blocks.room_to_receive();
    kept = blocks_kept_from(e, reading);
    // One of the blocks kept is its own.
    bool const has_own = first && blocks.receivers() < e.reserves.first;
    kept -= has_own ? std::min(kept, 1u) : 0;
    if (missing == 0 || missing + kept <= room) {
      return length;
    }
    first = first && (has_own ? room != 0 : room > kept);
    bool const over = reading == Reading::behind || i == discards_max;
    if (over || !gaps::discard_for(e, c)) {
      break;
    }
  }
  std::uint32_t const within = a.receive.place_of(blocks, begin);
  bool const rest = first || blocks_missing(e, a, begin, Bytes{1}) == 0;
  return rest ? least(length, blocks.block_bytes() - Bytes{within}) : Bytes{};
}

[[gnu::cold]] void want_resource(Engine& e, Connection& c, Resource kind) {
  if (c.wants != kind) {
    forget_room(e, c);
    c.wants = kind;
    ++e.state->refused;
    if (c.telling == TellPlace::none) {
      c.telling = TellPlace::wanting;
      e.wanting(kind).push_back(e.slot_of(c));
    }
  }
}

[[gnu::cold]] void leave_untold(Engine& e, Connection& c) {
  bool const half_open = c.telling == TellPlace::half_open;
  (half_open ? e.half_open_records() : e.wanting(c.wants)).remove(e.slot_of(c));
  c.telling = TellPlace::none;
}

// A connection with an event in every turn is never in the list at the right time: it is notified
// of `room` in the next turn if there is some now.
[[gnu::cold]] void wait_for_room(Engine& e, Connection& c) {
  if (available(e, c.wants) != 0) {
    forget_room(e, c);
    notify(e, c, EventKind::room);
    return;
  }
  c.telling = TellPlace::wanting;
  e.wanting(c.wants).push_back(e.slot_of(c));
}

void forget_room(Engine& e, Connection& c) {
  if (c.wants != Resource::none) {
    if (c.telling == TellPlace::wanting) {
      leave_untold(e, c);
    }
    --e.state->refused;
    c.wants = Resource::none;
  }
}

[[gnu::cold]] void notify_resources(Engine& e) {
  for (Resource const kind : kinds) {
    auto waiting = e.wanting(kind);
    std::uint32_t const count = waiting.empty() ? 0 : std::min(waiting.count(), available(e, kind));
    for (std::uint32_t i = 0; i < count; ++i) {
      Connection& c = e.connection(waiting.first());
      forget_room(e, c);
      notify(e, c, EventKind::room);
    }
  }
}

bool room_to_tell(const Engine& e) {
  for (Resource const kind : kinds) {
    if (!e.wanting(kind).empty() && available(e, kind) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace lockstep::tcp
