// Calls that open and close sockets, and socket options and addresses.
#include "conformance/packetdrill/calls.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdio>

namespace lockstep::tools::packetdrill {
namespace {

using Kind = Thing::Kind;

/// 0 if the descriptor is a socket, otherwise the error.
Result fault_of(const Thing& thing) {
  if (thing.kind == Kind::nothing) {
    return -EBADF;
  }
  return thing.kind == Kind::socket ? 0 : -ENOTSOCK;
}

void end(Session& session, const Thing& thing) {
  if (thing.kind == Kind::socket || thing.kind == Kind::epoll) {
    static_cast<void>(session.sockets().close(thing.ours));
  } else if (thing.kind != Kind::nothing) {
    Pipe& pipe = session.live().pipe(thing);
    (thing.kind == Kind::read_end ? pipe.read_open : pipe.write_open) = false;
  }
}

/// The seconds for which close() waits for queued data to be acknowledged; 0: none.
int linger_of(Session& session, int fd) {
  Sockets& sockets = session.sockets();
  int const ours = session.live().ours(fd);
  linger wish{};
  int unread = 0;
  socklen_t length = sizeof wish;
  bool const known = sockets.get_option(ours, SOL_SOCKET, SO_LINGER, &wish, &length) == 0 &&
                     sockets.query(ours, SIOCINQ, &unread) == 0;
  bool const waits = known && wish.l_onoff != 0 && wish.l_linger > 0 && unread == 0;
  return waits ? wish.l_linger : 0;
}

/// Whether the peer has not acknowledged our FIN yet.
bool is_closing(Session& session, int fd) {
  lockstep_tcp_info info{};
  socklen_t length = sizeof info;
  static_cast<void>(
      session.sockets().get_option(session.live().ours(fd), IPPROTO_TCP, TCP_INFO, &info, &length));
  return info.tcpi_state == TCP_FIN_WAIT1 || info.tcpi_state == TCP_CLOSING ||
         info.tcpi_state == TCP_LAST_ACK;
}

Result give_back(Session& session, int fd) {
  end(session, session.live().find(fd));
  session.live().drop(fd);
  return 0;
}

}  // namespace

bool is_blocking(Session& session, int fd, int flags) {
  Thing const thing = session.live().find(fd);
  if ((flags & MSG_DONTWAIT) != 0) {
    return false;
  }
  if (thing.kind == Kind::socket) {
    return (session.sockets().control(thing.ours, F_GETFL, 0) & O_NONBLOCK) == 0;
  }
  return !thing.nonblocking;
}

Result run_on(Session& session, int fd, int flags, const Attempt& attempt) {
  bool const blocking = session.run([&] { return is_blocking(session, fd, flags) ? 1 : 0; }) != 0;
  return session.run({blocking, std::nullopt}, attempt);
}

Result show(Session& session, const Thing& thing) {
  Thing stale;
  Result const fd = session.live().open(thing, stale);
  end(session, fd < 0 ? thing : stale);
  return fd;
}

Result open_socket(Session& session, int domain, int type, int protocol) {
  return session.run([&]() -> Result {
    Result const ours = session.sockets().socket(domain, type, protocol);
    return ours < 0 ? ours : show(session, {Kind::socket, static_cast<int>(ours), 0, false});
  });
}

Result bind(Session& session, int fd, NameIn name) {
  Result const out =
      session.run([&] { return session.sockets().bind(session.live().ours(fd), name); });
  if (out == -EADDRNOTAVAIL) {
    std::fputs(
        "liblockstep_packetdrill: bind() uses an address that the stack does not have: pass the "
        "same one with --local_ip and with --so_flags=local_ip=ADDRESS\n",
        stderr);
  }
  return out;
}

Result accept(Session& session, int fd, sockaddr* address, socklen_t* length) {
  return run_on(session, fd, 0, [&](bool, Result& out) {
    Result const bad = fault_of(session.live().find(fd));
    out = bad != 0 ? bad : session.sockets().accept(session.live().ours(fd), address, length, 0);
    if (out >= 0) {
      out = show(session, {Kind::socket, static_cast<int>(out), 0, false});
    }
    return out == -EAGAIN ? Progress::none : Progress::done;
  });
}

Progress opened(Session& session, int fd, Result& out) {
  Sockets& sockets = session.sockets();
  int const ours = session.live().ours(fd);
  pollfd entry{ours, POLLOUT, 0};
  if (sockets.poll({&entry, 1}) == 0) {
    return Progress::none;
  }
  int error = 0;
  socklen_t length = sizeof error;
  Result const bad = sockets.get_option(ours, SOL_SOCKET, SO_ERROR, &error, &length);
  out = bad != 0 ? bad : -error;
  return Progress::done;
}

Result connect(Session& session, int fd, NameIn name) {
  bool begun = false;
  return run_on(session, fd, 0, [&](bool last, Result& out) {
    if (!begun) {
      Result const bad = fault_of(session.live().find(fd));
      out = bad != 0 ? bad : session.sockets().connect(session.live().ours(fd), name);
      begun = out == -EINPROGRESS || out == -EALREADY;
      return begun && !last ? Progress::none : Progress::done;
    }
    Progress const progress = opened(session, fd, out);
    if (progress == Progress::done && out == 0) {
      // Takes the result, so that a later call does not report success again.
      static_cast<void>(session.sockets().connect(session.live().ours(fd), name));
    }
    return progress;
  });
}

Result close(Session& session, int fd) {
  int seconds = 0;
  Result const bad = session.run([&]() -> Result {
    if (session.live().find(fd).kind == Kind::nothing) {
      return -EBADF;
    }
    seconds = is_blocking(session, fd, 0) ? linger_of(session, fd) : 0;
    if (seconds != 0) {
      static_cast<void>(session.sockets().shutdown(session.live().ours(fd), SHUT_WR));
    }
    return 0;
  });
  if (bad != 0) {
    return bad;
  }
  Session::How const how{seconds != 0, Duration::seconds(static_cast<std::uint64_t>(seconds))};
  return session.run(how, [&](bool last, Result& out) {
    if (!last && is_closing(session, fd)) {
      return Progress::none;
    }
    out = give_back(session, fd);
    return Progress::done;
  });
}

Result control(Session& session, int fd, int command, int argument) {
  return session.run([&]() -> Result {
    Thing* const thing = session.live().look(fd);
    if (thing == nullptr) {
      return -EBADF;
    }
    if (thing->kind == Kind::socket) {
      return session.sockets().control(thing->ours, command, argument);
    }
    if (command == F_SETFL) {
      thing->nonblocking = (argument & O_NONBLOCK) != 0;
      return 0;
    }
    return command == F_GETFL ? (thing->nonblocking ? O_NONBLOCK : 0) : -EINVAL;
  });
}

Result query(Session& session, int fd, unsigned long request, void* argument) {
  return session.run([&]() -> Result {
    Thing const thing = session.live().find(fd);
    if (thing.kind == Kind::read_end && request == FIONREAD && argument != nullptr) {
      *static_cast<int*>(argument) = static_cast<int>(session.live().pipe(thing).text.size());
      return 0;
    }
    return session.sockets().query(session.live().ours(fd), request, argument);
  });
}

}  // namespace lockstep::tools::packetdrill
