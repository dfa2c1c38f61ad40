// Data transfer on sockets and pipes; a blocking call continues until it is complete.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "conformance/packetdrill/calls.hpp"

namespace lockstep::tools::packetdrill {
namespace {

using Kind = Thing::Kind;

/// The parts after the first `skip` octets.
std::vector<iovec> rest_of(std::span<const iovec> parts, std::size_t skip) {
  std::vector<iovec> out;
  for (iovec part : parts) {
    std::size_t const passed = std::min(skip, part.iov_len);
    skip -= passed;
    part.iov_len -= passed;
    if (passed != 0) {
      part.iov_base = static_cast<std::byte*>(part.iov_base) + passed;
    }
    if (part.iov_len != 0) {
      out.push_back(part);
    }
  }
  return out;
}

std::size_t total_of(std::span<const iovec> parts) {
  std::size_t total = 0;
  for (iovec const& part : parts) {
    total += part.iov_len;
  }
  return total;
}

Result through_pipe(Session& session, const Thing& thing, std::span<const iovec> parts) {
  Result total = 0;
  for (iovec const& part : parts) {
    std::span const memory(static_cast<std::byte*>(part.iov_base), part.iov_len);
    Result const moved = thing.kind == Kind::read_end ? read_pipe(session, thing, memory)
                                                      : write_pipe(session, thing, memory);
    if (moved < 0) {
      return total != 0 ? total : moved;
    }
    total += moved;
    if (static_cast<std::size_t>(moved) != part.iov_len) {
      break;
    }
  }
  return total;
}

Result receive_now(Session& session, int fd, std::span<const iovec> parts, int flags) {
  Thing const thing = session.live().find(fd);
  if (thing.kind == Kind::read_end) {
    return through_pipe(session, thing, parts);
  }
  return session.sockets().receive(session.live().ours(fd), parts, flags);
}

Result send_now(Session& session, int fd, std::span<const iovec> parts, int flags, NameIn to) {
  Thing const thing = session.live().find(fd);
  if (thing.kind == Kind::write_end) {
    return through_pipe(session, thing, parts);
  }
  return session.sockets().send(session.live().ours(fd), parts, flags, to);
}

}  // namespace

Result receive(Session& session, int fd, std::span<const iovec> parts, int flags) {
  std::size_t const wanted = total_of(parts);
  bool const all = (flags & MSG_WAITALL) != 0 && (flags & (MSG_PEEK | MSG_TRUNC)) == 0;
  std::size_t had = 0;
  return run_on(session, fd, flags, [&](bool last, Result& out) {
    Result const got = had == 0 ? receive_now(session, fd, parts, flags)
                                : receive_now(session, fd, rest_of(parts, had), flags);
    if (got > 0) {
      had += static_cast<std::size_t>(got);
    }
    out = had != 0 ? static_cast<Result>(had) : got;
    bool const more = got == -EAGAIN || (got > 0 && all && had < wanted);
    bool const enough = had != 0 && !all;
    if (last || !more || enough) {
      return Progress::done;
    }
    return got > 0 ? Progress::some : Progress::none;
  });
}

Result send(Session& session, int fd, std::span<const iovec> parts, int flags, NameIn to) {
  std::size_t const wanted = total_of(parts);
  std::size_t had = 0;
  bool begun = false, opening = false;
  return run_on(session, fd, flags, [&](bool last, Result& out) {
    if (opening) {
      Result failed = 0;
      if (opened(session, fd, failed) == Progress::none && !last) {
        return Progress::none;
      }
      opening = false;
      if (failed != 0) {
        out = failed;
        return Progress::done;
      }
    }
    int const now = !begun ? flags : flags & ~MSG_FASTOPEN;
    Result const took = had == 0 ? send_now(session, fd, parts, now, to)
                                 : send_now(session, fd, rest_of(parts, had), now, to);
    had += took > 0 ? static_cast<std::size_t>(took) : 0;
    out = had != 0 ? static_cast<Result>(had) : took;
    begun = begun || took > 0 || took == -EINPROGRESS;
    // Data that does not fit on the SYN is sent once the connection is established.
    opening = (now & MSG_FASTOPEN) != 0 && (took > 0 || took == -EINPROGRESS);
    bool const more = opening || took == -EAGAIN || (took > 0 && had < wanted);
    if (last || !more) {
      return Progress::done;
    }
    return took > 0 ? Progress::some : Progress::none;
  });
}

}  // namespace lockstep::tools::packetdrill
