// Sending and receiving: data is copied into and out of the stack, and buffered nowhere else.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {
namespace {

// The most octets of one call, so that its result is never negative.
constexpr std::uint64_t call_max = std::numeric_limits<std::int32_t>::max();

constexpr int receive_flags =
    MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT | MSG_NOSIGNAL | MSG_WAITALL | MSG_OOB;
constexpr int send_flags =
    MSG_MORE | MSG_OOB | MSG_FASTOPEN | MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR;

// The octets of all parts, or a negative errno.
Result total_of(std::span<const iovec> parts, bool needs_memory) {
  std::uint64_t total = 0;
  for (iovec const& part : parts) {
    if (needs_memory && part.iov_base == nullptr && part.iov_len != 0) {
      return -EFAULT;
    }
    if (part.iov_len > std::uint64_t{std::numeric_limits<std::int64_t>::max()} - total) {
      return -EINVAL;
    }
    total += part.iov_len;
  }
  return static_cast<Result>(std::min(total, call_max));
}

// Whether any later part holds octets; any part may be empty, including the last.
bool bytes_behind(std::span<const iovec> rest) {
  return std::ranges::any_of(rest, [](const iovec& part) { return part.iov_len != 0; });
}

// How the last part of a call, or an earlier one, is written.
More more_of(int flags, bool hold, bool last) {
  if (last && (flags & MSG_EOR) != 0) {
    return hold ? More::record_and_more : More::record;
  }
  return hold || !last ? More::yes : More::no;
}

}  // namespace

// The limit of one read: it stops before the urgent octet.
std::uint32_t Sockets::limit_to_mark(const Socket& s) const {
  return s.urgent_left > 1 ? s.urgent_left - 1 : std::numeric_limits<std::uint32_t>::max();
}

// Whether the next octet is an urgent one that is not in the stream.
bool Sockets::at_hidden_octet(const Socket& s) const {
  return s.urgent_left == 1 && !s.urgent_inline;
}

// Whether the urgent octet itself has arrived, in order.
bool Sockets::urgent_arrived(const Socket& s) const {
  return s.urgent_left != 0 && stack_.unread(s.connection).count >= s.urgent_left;
}

// A new urgent octet. One that was the next to be read is behind the reader then, as in Linux.
void Sockets::note_urgent(Socket& s, Bytes ahead) {
  bool const behind = at_hidden_octet(s) && urgent_arrived(s);
  if (behind) {
    static_cast<void>(skip_hidden_octet(s, false));
  }
  s.urgent_left = ahead.count - (behind ? std::min(ahead.count, 1u) : 0);
  s.urgent_taken = false;
}

// What poll reports: urgent data that is announced or, with Config's `urgent_apart`, an urgent
// octet that can be read.
bool Sockets::tells_of_urgent(const Socket& s) const {
  return stack_.config().tcp.urgent_apart ? urgent_arrived(s) && !s.urgent_taken
                                          : s.urgent_left != 0;
}

// recv(MSG_OOB), as Linux's tcp(7): the one urgent octet, if it is not in the stream.
Result Sockets::receive_urgent(Socket& s, std::span<const iovec> parts, int flags) {
  if (s.urgent_inline || s.urgent_left == 0 || s.urgent_taken) {
    return -EINVAL;
  }
  if (!urgent_arrived(s)) {
    return s.peer_finished || s.shut_read ? 0 : -EAGAIN;
  }
  s.urgent_taken = (flags & MSG_PEEK) == 0;
  auto const there = stack_.readable(s.connection, Bytes{s.urgent_left - 1});
  for (iovec const& part : parts) {
    if (part.iov_len != 0) {
      if ((flags & MSG_TRUNC) == 0) {
        std::memcpy(part.iov_base, there.data(), 1);
      }
      return 1;
    }
  }
  return 0;
}

// SIOCINQ: the octets that can be read, up to an urgent one that is not in the stream.
std::uint32_t Sockets::readable_before_mark(const Socket& s) const {
  std::uint32_t const unread = stack_.unread(s.connection).count;
  return urgent_arrived(s) && !s.urgent_inline ? s.urgent_left - 1 : unread;
}

// Reads past the urgent octet that is not in the stream, or with MSG_PEEK tells how many octets
// to leave out.
std::uint32_t Sockets::skip_hidden_octet(Socket& s, bool peek) {
  if (!at_hidden_octet(s) || !urgent_arrived(s)) {
    return 0;
  }
  if (peek) {
    return 1;
  }
  consume(s, 1);
  s.urgent_left = 0;
  return 0;
}

void Sockets::consume(Socket& s, std::uint32_t octets) {
  clamp_window(s, octets);
  stack_.consume(s.connection, Bytes{octets});
  s.consumed += octets;
}

Result Sockets::copy_unread(Socket& s, std::span<const iovec> parts, int flags) {
  bool const peek = (flags & MSG_PEEK) != 0;
  bool const discard = (flags & MSG_TRUNC) != 0;
  std::uint32_t const hidden = bytes_behind(parts) ? skip_hidden_octet(s, peek) : 0;
  std::uint64_t left = std::min<std::uint64_t>(limit_to_mark(s), call_max);
  std::uint32_t copied = 0;
  for (iovec const& part : parts) {
    auto* into = static_cast<std::byte*>(part.iov_base);
    std::uint64_t room = std::min<std::uint64_t>(part.iov_len, left);
    left -= room;
    while (room != 0) {
      auto const there = stack_.readable(s.connection, Bytes{peek ? copied + hidden : 0});
      if (there.empty()) {
        return copied;
      }
      auto const now = static_cast<std::uint32_t>(std::min<std::uint64_t>(there.size(), room));
      if (!discard) {
        std::memcpy(into, there.data(), now);
        into += now;
      }
      if (!peek) {
        consume(s, now);
        s.urgent_left -= std::min(s.urgent_left, now);
      }
      copied += now;
      room -= now;
    }
  }
  return copied;
}

// The result when there is nothing to read: end of stream, an error, or EAGAIN.
Result Sockets::read_nothing(Socket& s) {
  switch (s.phase) {
    case Phase::free:
    case Phase::unconnected:
    case Phase::listening:
      return -ENOTCONN;
    case Phase::armed:
    case Phase::connecting:
      return -EAGAIN;
    case Phase::failed:
    case Phase::connected:
    case Phase::over:
      break;
  }
  if (s.peer_finished) {
    return 0;
  }
  if (s.error != 0) {
    return take_error(s);
  }
  bool const ended = s.shut_read || s.phase != Phase::connected;
  return ended ? 0 : -EAGAIN;
}

Result Sockets::receive(int fd, std::span<const iovec> parts, int flags) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  Result const total = total_of(parts, (flags & MSG_TRUNC) == 0);
  if (total < 0) {
    return total;
  }
  if ((flags & ~receive_flags) != 0) {
    return -EOPNOTSUPP;
  }
  if ((flags & MSG_OOB) != 0) {
    bool const joined = s->phase == Phase::connected || s->phase == Phase::over;
    return s->phase == Phase::connected ? receive_urgent(*s, parts, flags)
           : joined                     ? -EINVAL
                                        : -ENOTCONN;
  }
  if (s->phase == Phase::connected) {
    Result const copied = copy_unread(*s, parts, flags);
    if (copied != 0 || total == 0) {
      return copied;
    }
  }
  return read_nothing(*s);
}

// 0, or the errno why nothing can be written.
Result Sockets::may_write(Socket& s) {
  switch (s.phase) {
    case Phase::free:
    case Phase::unconnected:
    case Phase::listening:
    case Phase::armed:
      return stack_.config().tcp.errors_like_linux ? -EPIPE : -ENOTCONN;
    case Phase::connecting:
      s.no_space = true;
      return -EAGAIN;
    case Phase::failed:
    case Phase::connected:
    case Phase::over:
      break;
  }
  if (s.error != 0) {
    return take_error(s);
  }
  return s.shut_write || s.phase != Phase::connected ? -EPIPE : 0;
}

void Sockets::note_refused(Socket& s, Refusal refusal) {
  s.no_space = true;
  s.refused_since = s.refused ? s.refused_since : stack_.now();
  s.refused = true;
  s.room_awaited = refusal == Refusal::no_room && !stack_.writable(s.connection).empty();
}

Result Sockets::write_parts(Socket& s, std::span<const iovec> parts, int flags) {
  bool const hold = (flags & MSG_MORE) != 0 || s.cork;
  std::uint64_t left = call_max;
  std::uint64_t written = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t const size = std::min<std::uint64_t>(parts[i].iov_len, left);
    left -= size;
    if (size == 0) {
      continue;
    }
    std::size_t const room = room_by_unsent(s, size);
    std::span const bytes(static_cast<const std::byte*>(parts[i].iov_base), room);
    if (room == 0) {
      s.no_space = true;
      return written != 0 ? static_cast<Result>(written) : -EAGAIN;
    }
    bool const last = !bytes_behind(parts.subspan(i + 1));
    Taken const taken = stack_.write(s.connection, bytes, more_of(flags, hold, last));
    if (taken.bytes.count != 0 && s.written == s.acknowledged) {
      s.busy_since = stack_.now();
    }
    written += taken.bytes.count;
    s.written += taken.bytes.count;
    if (taken.refusal == Refusal::closing || taken.refusal == Refusal::stale_id) {
      return written != 0 ? static_cast<Result>(written) : -EPIPE;
    }
    if (taken.bytes.count != room) {
      note_refused(s, taken.refusal);
    }
    if (taken.bytes.count != size) {
      s.no_space = true;
      return written != 0 ? static_cast<Result>(written) : -EAGAIN;
    }
  }
  return static_cast<Result>(written);
}

// Sends the data with the SYN if the peer's cookie is known. If not, the SYN leaves at once and
// asks for one, and no data is accepted, as in Linux.
Result Sockets::open_with_data(Socket& s, const Endpoint& to, std::span<const iovec> parts,
                               int flags) {
  bool const known = stack_.knows_cookie(open_of(s, to, true));
  if (Result const bad = open_connection(s, to, true); bad != 0) {
    disconnect(s);
    return bad;
  }
  // As FreeBSD's: TCP_FASTOPEN was set, and the data waits for the handshake if it must.
  bool const waits = (flags & MSG_FASTOPEN) == 0 && s.fast_open != 0;
  Result const written = known || waits ? write_parts(s, parts, flags) : 0;
  return written > 0 ? written : -EINPROGRESS;
}

Result Sockets::send(int fd, std::span<const iovec> parts, int flags, NameIn to) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  Result const total = total_of(parts, true);
  if (total < 0) {
    return total;
  }
  if ((flags & ~send_flags) != 0) {
    return -EOPNOTSUPP;
  }
  bool const by_option = s->fast_open != 0 && to.address != nullptr;
  bool const opens = ((flags & MSG_FASTOPEN) != 0 || by_option) && s->phase == Phase::unconnected;
  if (opens) {
    Endpoint remote;
    if (Result const bad = read_name(to, s->v6, remote); bad != 0) {
      return bad;
    }
    return open_with_data(*s, remote, parts, flags);
  }
  if (s->phase == Phase::armed) {
    return open_with_data(*s, s->remote, parts, flags);
  }
  if (Result const bad = may_write(*s); bad != 0) {
    return bad;
  }
  Result const written = write_parts(*s, parts, flags);
  if (written > 0 && (flags & MSG_OOB) != 0) {
    static_cast<void>(stack_.urgent(s->connection));
  }
  return written;
}

}  // namespace lockstep::tools
