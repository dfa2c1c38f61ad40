// poll and epoll, with their timeouts in virtual time.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "conformance/packetdrill/calls.hpp"

namespace lockstep::tools::packetdrill {
namespace {

using Kind = Thing::Kind;

constexpr nfds_t entries_max = 4096;

Session::How how_of(int timeout_ms) {
  if (timeout_ms < 0) {
    return {true, std::nullopt};
  }
  return {true, Duration::milliseconds(static_cast<std::uint64_t>(timeout_ms))};
}

short events_of_pipe(Session& session, const Thing& thing, short wanted) {
  Pipe const& pipe = session.live().pipe(thing);
  int events = 0;
  if (thing.kind == Kind::read_end) {
    events |= pipe.text.empty() ? 0 : POLLIN | POLLRDNORM;
    events |= pipe.write_open ? 0 : POLLHUP;
  } else {
    events |= pipe.room() == 0 ? 0 : POLLOUT | POLLWRNORM;
    events |= pipe.read_open ? 0 : POLLERR;
  }
  return static_cast<short>(events & (wanted | POLLHUP | POLLERR));
}

Result poll_now(Session& session, std::span<pollfd> entries) {
  std::vector<pollfd> mine(entries.begin(), entries.end());
  for (pollfd& one : mine) {
    Kind const kind = session.live().find(one.fd).kind;
    bool const is_pipe = kind == Kind::read_end || kind == Kind::write_end;
    one.fd = is_pipe || one.fd < 0 ? -1 : session.live().ours(one.fd);
  }
  Result ready = session.sockets().poll(mine);
  for (std::size_t i = 0; i < entries.size() && ready >= 0; ++i) {
    Thing const thing = session.live().find(entries[i].fd);
    entries[i].revents = mine[i].revents;
    if (thing.kind == Kind::read_end || thing.kind == Kind::write_end) {
      entries[i].revents = events_of_pipe(session, thing, entries[i].events);
      ready += entries[i].revents != 0 ? 1 : 0;
    }
  }
  return ready;
}

}  // namespace

Result poll(Session& session, std::span<pollfd> entries, int timeout_ms) {
  if (entries.size() > entries_max) {
    return -EINVAL;
  }
  return session.run(how_of(timeout_ms), [&](bool last, Result& out) {
    out = poll_now(session, entries);
    return out != 0 || last ? Progress::done : Progress::none;
  });
}

Result open_epoll(Session& session) {
  return session.run([&]() -> Result {
    Result const ours = session.sockets().create_epoll(0);
    return ours < 0 ? ours : show(session, {Kind::epoll, static_cast<int>(ours), 0, false});
  });
}

Result watch(Session& session, int epfd, int operation, int fd, const epoll_event* event) {
  return session.run([&]() -> Result {
    Kind const kind = session.live().find(fd).kind;
    if (kind == Kind::read_end || kind == Kind::write_end) {
      return -EPERM;
    }
    Live const& live = session.live();
    return session.sockets().watch(live.ours(epfd), operation, live.ours(fd), event);
  });
}

Result wait_epoll(Session& session, int epfd, std::span<epoll_event> into, int timeout_ms) {
  return session.run(how_of(timeout_ms), [&](bool last, Result& out) {
    out = session.sockets().ready(session.live().ours(epfd), into);
    return out != 0 || last ? Progress::done : Progress::none;
  });
}

}  // namespace lockstep::tools::packetdrill
