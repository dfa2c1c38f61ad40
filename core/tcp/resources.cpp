// Three waiting lists, one for each resource for which a call can be refused.
#include "core/tcp/resources.hpp"

#include "core/tcp/lifecycle.hpp"

namespace lockstep::tcp {
namespace {

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

}  // namespace

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
