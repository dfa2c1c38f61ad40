// Listening: a socket's listeners in the stack, and the connections that wait for accept().
#include <algorithm>
#include <cerrno>

#include "core/units/check.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {
namespace {

// The largest backlog, whatever listen() asks for.
constexpr std::uint32_t backlog_max = 4096;

bool listens_by(const Socket& s, ListenerId id) {
  auto const all = std::span(s.listeners).first(s.listener_count);
  return std::ranges::find(all, id) != all.end();
}

}  // namespace

// Settings of the connections it accepts, from the SYN-ACK on. Options that were not set keep the
// stack's values.
Backlog Sockets::backlog_of(const Socket& s) const {
  // Without a server's Fast Open the option concerns sendto() only.
  std::uint32_t const fast_open = stack_.config().tcp.fast_open_server ? s.fast_open : 0;
  Backlog out{Count{s.backlog}, Count{s.backlog}, Count{fast_open},
              Bytes{pending_or_default(s, SettingKind::mss)}};
  bool const own_buffer = s.pending_options.has(SettingKind::receive_buffer);
  out.receive_buffer = {own_buffer ? s.pending_options.of(SettingKind::receive_buffer) : 0};
  if (s.window_clamp != 0) {
    out.receive_buffer = {first_window_of(s)};
  }
  out.ttl = static_cast<std::uint8_t>(
      s.pending_options.has(SettingKind::ttl) ? s.pending_options.of(SettingKind::ttl) : 0);
  out.dscp = static_cast<std::uint8_t>(pending_or_default(s, SettingKind::dscp));
  return out;
}

// Applies an option that was set while the socket listens.
void Sockets::offer_anew(const Socket& s) {
  for (std::uint32_t i = 0; i < s.listener_count; ++i) {
    Refusal const refused = stack_.change(s.listeners[i], backlog_of(s));
    CHECK(refused == Refusal::none);
  }
}

Result Sockets::open_listener(Socket& s, IpAddress address) {
  Local local;
  local.address = address;
  local.port = s.local.port;
  ListenerId id;
  switch (stack_.listen(local, backlog_of(s), id)) {
    case Refusal::none:
      break;
    case Refusal::no_room:
      return -ENOBUFS;
    case Refusal::switched_off:
      return -EOPNOTSUPP;
    case Refusal::bad_local:
      return -EADDRNOTAVAIL;
    default:
      return -EADDRINUSE;
  }
  if (announce_.listener != nullptr) {
    announce_.listener(announce_.user, id);
  }
  s.listeners[s.listener_count] = id;
  ++s.listener_count;
  by_listener_[id.slot] = place_of(s);
  return 0;
}

// The stack's unspecified address covers both families. If the socket covers only one of them, each
// address of that family gets a listener.
Result Sockets::open_listeners(Socket& s) {
  bool const both = s.v6 && !s.v6_only && s.local.address == IpAddress{};
  bool const v4 = s.local.address.is_v4();
  bool const whole = both || !(v4 ? has_v6() : has_v4());
  if (!s.local.address.is_unspecified() || whole) {
    return open_listener(s, s.local.address);
  }
  Config const& config = stack_.config();
  for (std::uint32_t i = 0; i < config.address_count.value; ++i) {
    IpAddress const address = config.addresses[i].address;
    Result const bad = address.is_v4() == v4 ? open_listener(s, address) : 0;
    if (bad != 0) {
      return bad;
    }
  }
  IpAddress const own_link = link_local_of(config.mac);
  bool const further = !v4 && config.link == LinkType::ethernet &&
                       std::ranges::none_of(config.addresses, [&](const HostAddress& a) {
                         return a.address.is_link_local();
                       });
  Result const bad = further ? open_listener(s, own_link) : 0;
  if (bad != 0) {
    return bad;
  }
  return s.listener_count == 0 ? -EADDRNOTAVAIL : 0;
}

Result Sockets::listen(int fd, int backlog) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  auto const wanted = static_cast<std::uint32_t>(std::max(backlog, 0));
  std::uint32_t const most = std::min(wanted, backlog_max - 1) + 1;
  if (s->phase == Phase::listening) {
    return change_backlog(*s, most);
  }
  if (s->phase != Phase::unconnected) {
    return -EINVAL;
  }
  bool const drawn = !s->named;
  if (drawn) {
    if (Result const bad = draw_port(*s, s->local); bad != 0) {
      return -EADDRINUSE;
    }
    enter_name(*s);
  } else if (conflicts(*s, s->local)) {
    return -EADDRINUSE;
  }
  s->backlog = most;
  Result const bad = open_listeners(*s);
  if (bad == 0) {
    s->phase = Phase::listening;
    wake(*s, 0);
    return 0;
  }
  for (std::uint32_t i = 0; i < s->listener_count; ++i) {
    by_listener_[s->listeners[i].slot] = nowhere;
    static_cast<void>(stack_.unlisten(s->listeners[i]));
  }
  s->listener_count = 0;
  if (drawn) {
    leave_name(*s);
    s->local.port = {};
  }
  return bad;
}

Result Sockets::change_backlog(Socket& s, std::uint32_t backlog) {
  if (backlog < s.backlog) {
    s.surplus += s.backlog - backlog;
  } else {
    std::uint32_t const more = backlog - s.backlog;
    std::uint32_t const kept = std::min(more, s.surplus);
    s.surplus -= kept;
    for (std::uint32_t i = 0; i < s.listener_count && more != kept; ++i) {
      stack_.admit(s.listeners[i], Count{more - kept});
    }
  }
  s.backlog = backlog;
  return 0;
}

// Resets the connections that wait, and those that the stack has not reported yet.
void Sockets::end_listening(Socket& s) {
  for (std::uint32_t i = 0; i < s.listener_count; ++i) {
    by_listener_[s.listeners[i].slot] = nowhere;
    static_cast<void>(stack_.unlisten(s.listeners[i]));
  }
  drop_deferred(s);
  s.listener_count = 0;
  s.phase = Phase::unconnected;
  s.surplus = 0;
  while (s.first != nowhere) {
    Socket& waiting = *pop_waiting(s);
    stack_.abort(waiting.connection);
    release(waiting);
  }
}

Socket* Sockets::pop_waiting(Socket& listener) {
  if (listener.first == nowhere) {
    return nullptr;
  }
  Socket& s = sockets_[listener.first];
  listener.first = s.next;
  if (listener.first == nowhere) {
    listener.last = nowhere;
  }
  s.next = nowhere;
  --listener.waiting;
  return &s;
}

void Sockets::take_accepted(const Event& event) {
  ++counters_.accepted;
  Place const at = by_listener_[event.listener.slot];
  Socket* const listener = at == nowhere ? nullptr : &sockets_[at];
  if (listener == nullptr || !listens_by(*listener, event.listener)) {
    stack_.abort(event.id);
    return;
  }
  Socket* const taken = take();
  if (taken == nullptr) {
    ++counters_.turned_away;
    stack_.abort(event.id);
    stack_.admit(event.listener, Count{1});
    return;
  }
  Socket& s = *taken;
  FourTuple const tuple = stack_.inspect(event.id).tuple;
  s.phase = Phase::connected;
  s.connect_reported = true;
  s.v6 = listener->v6;
  s.v6_only = listener->v6_only;
  s.reuse_address = listener->reuse_address;
  s.cork = listener->cork;
  s.notsent_low = listener->notsent_low;
  s.window_clamp = listener->window_clamp;
  s.mtu_discover = listener->mtu_discover;
  s.urgent_inline = listener->urgent_inline;
  s.linger = listener->linger;
  s.linger_seconds = listener->linger_seconds;
  s.pending_options = listener->pending_options;
  s.local = tuple.local;
  s.remote = tuple.remote;
  s.from = event.listener;
  adopt(s, event.id);
  apply_pending_options(s);
  adopt_window_clamp(s);
  clamp_window(s);
  note_announced_mss(s, *listener);
  if (listener->defer_seconds == 0) {
    push_waiting(*listener, s);
    return;
  }
  // Events for data that came with the connection follow.
  s.deferred = true;
  s.deferred_until = stack_.now() + Duration::seconds(listener->defer_seconds);
  defer_at_ = earlier(defer_at_, s.deferred_until);
}

void Sockets::push_waiting(Socket& listener, Socket& s) {
  Place const place = place_of(s);
  (listener.last == nowhere ? listener.first : sockets_[listener.last].next) = place;
  listener.last = place;
  ++listener.waiting;
  wake(listener, EPOLLIN | EPOLLRDNORM);
}

// The listener of a connection that waits or is deferred.
Socket* Sockets::listener_of(const Socket& s) {
  Place const at = by_listener_[s.from.slot];
  bool const listens = at != nowhere && listens_by(sockets_[at], s.from);
  return listens ? &sockets_[at] : nullptr;
}

void Sockets::end_deferral(Socket& s) {
  s.deferred = false;
  Socket* const listener = listener_of(s);
  CHECK(listener != nullptr);
  push_waiting(*listener, s);
}

void Sockets::end_deferrals(Instant now) {
  defer_at_ = Instant::never();
  for (Socket& s : sockets_) {
    if (s.deferred && s.deferred_until <= now) {
      end_deferral(s);
    } else if (s.deferred) {
      defer_at_ = earlier(defer_at_, s.deferred_until);
    }
  }
}

// A connection of the queue is gone or was accepted, so there is room for one more.
void Sockets::make_room(Socket& listener, ListenerId from) {
  if (listener.surplus != 0) {
    --listener.surplus;
  } else {
    stack_.admit(from, Count{1});
  }
}

// For a listener that ends: resets its deferred connections, as it resets those that wait.
void Sockets::drop_deferred(const Socket& listener) {
  if (defer_at_.is_never()) {
    return;
  }
  for (Socket& s : sockets_) {
    if (s.deferred && listens_by(listener, s.from)) {
      stack_.abort(s.connection);
      release(s);
    }
  }
}

Result Sockets::accept(int fd, sockaddr* address, socklen_t* length, int flags) {
  Socket* s = nullptr;
  if ((flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != 0) {
    return -EINVAL;
  }
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  if (s->phase != Phase::listening) {
    return -EINVAL;
  }
  if (descriptors_.full()) {
    return -EMFILE;
  }
  if (s->first == nowhere) {
    return -EAGAIN;
  }
  // Do what can fail first, because after a failure the connection must still wait.
  if (Result const bad = write_name(sockets_[s->first].remote, s->v6, address, length); bad != 0) {
    return bad;
  }
  Socket& accepted = *pop_waiting(*s);
  make_room(*s, accepted.from);
  return give_descriptor(accepted, flags);
}

}  // namespace lockstep::tools
