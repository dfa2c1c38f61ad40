// Pipes in memory, and splice between pipes and sockets.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "conformance/packetdrill/calls.hpp"

namespace lockstep::tools::packetdrill {
namespace {

using Kind = Thing::Kind;

constexpr unsigned known_flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT;

void take_out(Pipe& pipe, std::size_t octets) {
  pipe.text.erase(pipe.text.begin(), pipe.text.begin() + static_cast<std::ptrdiff_t>(octets));
}

Result from_socket(Session& session, const Thing& from, const Thing& to, std::size_t size) {
  Pipe& pipe = session.live().pipe(to);
  if (!pipe.read_open) {
    return -EPIPE;
  }
  std::vector<std::byte> text(std::min(size, pipe.room()));
  if (text.empty()) {
    return size == 0 ? 0 : -EAGAIN;
  }
  iovec const part{text.data(), text.size()};
  Result const got = session.sockets().receive(from.ours, {&part, 1}, 0);
  if (got > 0) {
    pipe.text.insert(pipe.text.end(), text.begin(), text.begin() + got);
  }
  return got;
}

Result to_socket(Session& session, const Thing& from, const Thing& to, std::size_t size, int more) {
  Pipe& pipe = session.live().pipe(from);
  iovec const part{pipe.text.data(), std::min(size, pipe.text.size())};
  if (part.iov_len == 0) {
    return pipe.write_open && size != 0 ? -EAGAIN : 0;
  }
  Result const took = session.sockets().send(to.ours, {&part, 1}, more);
  if (took > 0) {
    take_out(pipe, static_cast<std::size_t>(took));
  }
  return took;
}

Result between(Session& session, const Thing& from, const Thing& to, std::size_t size) {
  Pipe& read_end = session.live().pipe(from);
  Result const moved =
      write_pipe(session, to, std::span(read_end.text).first(std::min(size, read_end.text.size())));
  if (moved > 0) {
    take_out(read_end, static_cast<std::size_t>(moved));
  }
  return moved == 0 && size != 0 && read_end.write_open ? -EAGAIN : moved;
}

Result splice_now(Session& session, const Thing& from, const Thing& to, std::size_t size,
                  unsigned flags) {
  if (from.kind == Kind::nothing || to.kind == Kind::nothing) {
    return -EBADF;
  }
  bool const out_of_pipe = from.kind == Kind::read_end;
  bool const into_pipe = to.kind == Kind::write_end;
  if (out_of_pipe && into_pipe) {
    return from.pipe == to.pipe ? -EINVAL : between(session, from, to, size);
  }
  if (into_pipe && from.kind == Kind::socket) {
    return from_socket(session, from, to, size);
  }
  if (out_of_pipe && to.kind == Kind::socket) {
    return to_socket(session, from, to, size, (flags & SPLICE_F_MORE) != 0 ? MSG_MORE : 0);
  }
  return -EINVAL;
}

}  // namespace

Result open_pipe(Session& session, int ends[2]) {
  return session.run([&]() -> Result {
    if (ends == nullptr) {
      return -EFAULT;
    }
    std::uint32_t const pipe = session.live().make_pipe();
    Result const in = show(session, {Kind::read_end, -1, pipe, false});
    if (in < 0) {
      return in;
    }
    Result const out = show(session, {Kind::write_end, -1, pipe, false});
    if (out < 0) {
      session.live().drop(static_cast<int>(in));
      return out;
    }
    ends[0] = static_cast<int>(in);
    ends[1] = static_cast<int>(out);
    return 0;
  });
}

Result read_pipe(Session& session, const Thing& thing, std::span<std::byte> into) {
  Pipe& pipe = session.live().pipe(thing);
  std::size_t const octets = std::min(into.size(), pipe.text.size());
  if (octets == 0) {
    return into.empty() || !pipe.write_open ? 0 : -EAGAIN;
  }
  std::memcpy(into.data(), pipe.text.data(), octets);
  take_out(pipe, octets);
  return static_cast<Result>(octets);
}

Result write_pipe(Session& session, const Thing& thing, std::span<const std::byte> from) {
  Pipe& pipe = session.live().pipe(thing);
  if (!pipe.read_open) {
    return -EPIPE;
  }
  std::size_t const octets = std::min(from.size(), pipe.room());
  if (octets == 0) {
    return from.empty() ? 0 : -EAGAIN;
  }
  pipe.text.insert(pipe.text.end(), from.begin(),
                   from.begin() + static_cast<std::ptrdiff_t>(octets));
  return static_cast<Result>(octets);
}

Result splice(Session& session, SpliceEnd from, SpliceEnd to, std::size_t size, unsigned flags) {
  // Sockets and pipes have no offset, but packetdrill passes one.
  bool const seeks =
      (from.offset != nullptr && *from.offset != 0) || (to.offset != nullptr && *to.offset != 0);
  if (seeks) {
    return -ESPIPE;
  }
  if ((flags & ~known_flags) != 0) {
    return -EINVAL;
  }
  bool const now = (flags & SPLICE_F_NONBLOCK) != 0;
  bool const blocking = session.run([&] {
    return !now && is_blocking(session, from.fd, 0) && is_blocking(session, to.fd, 0) ? 1 : 0;
  }) != 0;
  return session.run({blocking, std::nullopt}, [&](bool, Result& out) {
    Live const& live = session.live();
    out = splice_now(session, live.find(from.fd), live.find(to.fd), size, flags);
    return out == -EAGAIN ? Progress::none : Progress::done;
  });
}

}  // namespace lockstep::tools::packetdrill
