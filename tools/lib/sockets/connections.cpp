// Connections of sockets: opening them, handling their events, ending them.
#include <cerrno>

#include "core/units/check.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {
namespace {

int errno_of(Refusal refusal, const Endpoint& to) {
  switch (refusal) {
    case Refusal::bad_remote:
      return to.port.value == 0 ? EADDRNOTAVAIL : ENETUNREACH;
    case Refusal::no_route:
      return ENETUNREACH;
    case Refusal::bad_local:
    case Refusal::ports_exhausted:
      return EADDRNOTAVAIL;
    case Refusal::exists:
      return EADDRINUSE;
    case Refusal::quiet_time:
      return EAGAIN;
    case Refusal::switched_off:
      return EOPNOTSUPP;
    default:
      return ENOBUFS;
  }
}

// The errno that Linux reports for an ICMP error; 0 if the cause is not one.
int icmp_errno(Cause cause) {
  switch (cause) {
    case Cause::network_unreachable:
      return ENETUNREACH;
    case Cause::protocol_unreachable:
      return ENOPROTOOPT;
    case Cause::source_route_failed:
      return EOPNOTSUPP;
    case Cause::prohibited:
      return EACCES;
    case Cause::host_unreachable:
    case Cause::time_exceeded:
    case Cause::no_neighbour:
      return EHOSTUNREACH;
    case Cause::parameter_problem:
      return EPROTO;
    case Cause::refused:
      return ECONNREFUSED;
    default:
      return 0;
  }
}

}  // namespace

int Sockets::errno_of(const Socket& s, Cause cause) {
  switch (cause) {
    case Cause::none:
    case Cause::finished:
      return 0;
    case Cause::refused:
      return ECONNREFUSED;
    case Cause::reset:
      // A reset after the peer's FIN is EPIPE: all of the peer's data has been received.
      return s.peer_finished ? EPIPE : ECONNRESET;
    case Cause::aborted:
      return ECONNABORTED;
    case Cause::timed_out:
    case Cause::keepalive_timed_out:
      return s.soft_error != 0 ? s.soft_error : ETIMEDOUT;
    default:
      return icmp_errno(cause);
  }
}

Result Sockets::take_error(Socket& s) {
  int const error = s.error;
  s.error = 0;
  return -error;
}

void Sockets::apply_pending_options(const Socket& s) {
  for (std::uint32_t i = 0; i < s.pending_options.values.size(); ++i) {
    auto const kind = static_cast<SettingKind>(i);
    if (s.pending_options.has(kind)) {
      Refusal const refused = stack_.set(s.connection, {kind, s.pending_options.of(kind)});
      CHECK(refused == Refusal::none || refused == Refusal::stale_id);
    }
  }
}

Open Sockets::open_of(const Socket& s, const Endpoint& to, bool fast_open) const {
  Open open;
  open.local = s.local;
  open.remote = to;
  open.dscp = static_cast<std::uint8_t>(pending_or_default(s, SettingKind::dscp));
  open.fast_open = fast_open;
  if (s.local.address.is_unspecified()) {
    open.local.address = IpAddress{};
  }
  return open;
}

Result Sockets::open_connection(Socket& s, const Endpoint& to, bool fast_open) {
  Open const open = open_of(s, to, fast_open);
  if (s.v6_only && to.address.is_v4()) {
    return -ENETUNREACH;
  }
  bool const any = s.local.address.is_unspecified();
  if (any && s.v6 && s.local.address.is_v4() && !to.address.is_v4()) {
    return -EADDRNOTAVAIL;
  }
  ConnectionId id;
  Refusal const refused = stack_.connect(open, id);
  if (refused != Refusal::none) {
    return -lockstep::tools::errno_of(refused, to);
  }
  adopt(s, id);
  if (announce_.connection != nullptr) {
    announce_.connection(announce_.user, id);
  }
  s.connect_reported = s.phase == Phase::armed;
  s.phase = Phase::connecting;
  s.chunk = 0;
  s.written = 0;
  s.acknowledged = 0;
  s.consumed = 0;
  s.busy_for = {};
  s.refused_for = {};
  Endpoint const local = stack_.inspect(id).tuple.local;
  if (!s.named) {
    s.local = local;
  }
  s.local.address = local.address;
  s.remote = to;
  apply_pending_options(s);
  if (s.window_clamp != 0) {
    adopt_window_clamp(s);
    static_cast<void>(stack_.set(id, {SettingKind::receive_buffer, first_window_of(s)}));
  }
  note_announced_mss(s, s);
  return 0;
}

Result Sockets::connect(int fd, NameIn name) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  if (name.address == nullptr) {
    return -EFAULT;
  }
  if (name.length >= sizeof(sa_family_t) && name.address->sa_family == AF_UNSPEC) {
    if (s->phase == Phase::listening) {
      return -EOPNOTSUPP;
    }
    disconnect(*s);
    wake(*s, 0);
    return 0;
  }
  Endpoint to;
  if (Result const bad = read_name(name, s->v6, to); bad != 0) {
    return bad;
  }
  if (s->phase != Phase::unconnected) {
    return connect_again(*s);
  }
  // Without a cookie there is no reason to delay the SYN: it leaves at once and asks for one.
  bool const fast = s->fast_open_connect;
  if (fast && stack_.knows_cookie(open_of(*s, to, true))) {
    s->remote = to;
    s->phase = Phase::armed;
    s->connect_reported = true;
    wake(*s, 0);
    return 0;
  }
  if (Result const bad = open_connection(*s, to, fast); bad != 0) {
    return bad;
  }
  return -EINPROGRESS;
}

Result Sockets::connect_again(Socket& s) {
  switch (s.phase) {
    case Phase::connecting:
      return -EALREADY;
    case Phase::listening:
      return stack_.config().tcp.errors_like_linux ? -EISCONN : -EOPNOTSUPP;
    case Phase::failed: {
      Result const error = take_error(s);
      disconnect(s);
      return error != 0 ? error : -ECONNABORTED;
    }
    default:
      break;
  }
  bool const news = !s.connect_reported;
  s.connect_reported = true;
  return news ? 0 : -EISCONN;
}

// Aborts any connection or attempt; the socket is then as after bind().
void Sockets::disconnect(Socket& s) {
  if (s.connection != ConnectionId{}) {
    stack_.abort(s.connection);
    forget_connection(s);
  }
  s.phase = Phase::unconnected;
  s.remote = Endpoint{};
  s.error = 0;
  s.soft_error = 0;
  s.shut_read = false;
  s.shut_write = false;
  s.peer_finished = false;
  s.reset_seen = false;
  s.finish_pending = false;
  s.room_awaited = false;
  s.urgent_left = 0;
  if (!s.named) {
    s.local = {s.v6 ? IpAddress{} : IpAddress::v4(0, 0, 0, 0), {}};
  }
}

void Sockets::finish(Socket& s) {
  s.finish_pending = stack_.finish(s.connection) == Refusal::no_room;
}

void Sockets::note_acknowledged(Socket& s, Bytes octets) {
  s.acknowledged += octets.count;
  if (s.acknowledged == s.written) {
    s.busy_for = s.busy_for + stack_.now().since(s.busy_since);
  }
}

void Sockets::note_room(Socket& s) {
  if (s.refused && !stack_.writable(s.connection).empty()) {
    s.refused = false;
    s.refused_for = s.refused_for + stack_.now().since(s.refused_since);
  }
}

// Called when the stack's pools have room again.
void Sockets::retry(Socket& s) {
  s.room_awaited = false;
  note_room(s);
  if (s.finish_pending) {
    finish(s);
  }
  if (s.close_pending && stack_.close(s.connection) != Refusal::no_room) {
    release(s);
    return;
  }
  if (s.no_space) {
    s.no_space = false;
    wake(s, EPOLLOUT | EPOLLWRNORM);
  }
}

// Records an ICMP error that did not end the connection. A later timeout is reported as this error
// unless a segment of the peer has arrived since.
void Sockets::note_soft_error(Socket& s, Cause cause) {
  if (int const error = icmp_errno(cause); error != 0) {
    s.soft_error = error;
    s.soft_error_at = stack_.now();
  }
}

void Sockets::forget_soft_error(Socket& s, Instant heard_at) {
  if (heard_at > s.soft_error_at) {
    s.soft_error = 0;
  }
}

Result Sockets::take_any_error(Socket& s) {
  if (s.error != 0 || s.phase != Phase::connected || s.soft_error == 0) {
    return take_error(s);
  }
  forget_soft_error(s, stack_.inspect(s.connection).heard_at);
  int const error = s.soft_error;
  s.soft_error = 0;
  return -error;
}

void Sockets::end(Socket& s, Cause cause) {
  forget_connection(s);
  if (s.close_pending) {
    release(s);
    return;
  }
  if (s.deferred) {
    // The connection was never reported to the program.
    Socket* const listener = listener_of(s);
    CHECK(listener != nullptr);
    make_room(*listener, s.from);
    release(s);
    return;
  }
  s.error = errno_of(s, cause);
  s.reset_seen = cause != Cause::finished;
  s.phase = s.phase == Phase::connecting ? Phase::failed : Phase::over;
  s.finish_pending = false;
  s.urgent_left = 0;
  wake(s, 0);
}

void Sockets::on_event(Stack& stack, const Event& event) {
  CHECK(&stack == &stack_);
  if (event.kind == EventKind::accepted) {
    take_accepted(event);
    return;
  }
  Socket* const found = of_connection(event.id);
  if (found == nullptr) {
    return;
  }
  Socket& s = *found;
  switch (event.kind) {
    case EventKind::accepted:
      break;
    case EventKind::connected:
      s.phase = Phase::connected;
      clamp_window(s);
      wake(s, 0);
      break;
    case EventKind::received:
      s.data_at = stack.now().ns;
      clamp_window(s);
      if (s.deferred) {
        end_deferral(s);
      }
      // The urgent octet may have come with it; announced before, it was not reported yet.
      wake(s, EPOLLIN | EPOLLRDNORM |
                  (stack.config().tcp.urgent_apart && tells_of_urgent(s) ? std::uint32_t{EPOLLPRI}
                                                                         : 0));
      break;
    case EventKind::acknowledged:
      note_acknowledged(s, event.bytes);
      // A writer that was refused and has data in flight gets no other notice of room.
      s.room_awaited = false;
      note_room(s);
      if (s.no_space && !stack_.writable(s.connection).empty() && unsent_is_low(s)) {
        s.no_space = false;
        wake(s, EPOLLOUT | EPOLLWRNORM);
      }
      break;
    case EventKind::room:
      retry(s);
      break;
    case EventKind::urgent:
      note_urgent(s, event.bytes);
      if (tells_of_urgent(s)) {
        wake(s, EPOLLPRI);
      }
      break;
    case EventKind::peer_finished:
      s.peer_finished = true;
      if (s.deferred) {
        end_deferral(s);
      }
      wake(s, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP);
      break;
    case EventKind::soft_error:
      note_soft_error(s, event.cause);
      break;
    case EventKind::closed:
      forget_soft_error(s, event.heard_at);
      end(s, event.cause);
      break;
  }
}

}  // namespace lockstep::tools
