// The calls of the interface on a session; they return a result or a negative errno.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <span>

#include "conformance/packetdrill/session.hpp"

namespace lockstep::tools::packetdrill {

// Opening and closing, addresses and options: calls.cpp.
Result open_socket(Session& session, int domain, int type, int protocol);
Result bind(Session& session, int fd, NameIn name);
Result accept(Session& session, int fd, sockaddr* address, socklen_t* length);
Result connect(Session& session, int fd, NameIn name);
Result close(Session& session, int fd);
Result control(Session& session, int fd, int command, int argument);
Result query(Session& session, int fd, unsigned long request, void* argument);

// Data: transfer.cpp.
Result receive(Session& session, int fd, std::span<const iovec> parts, int flags);
Result send(Session& session, int fd, std::span<const iovec> parts, int flags, NameIn to);

// Readiness: readiness.cpp.
Result poll(Session& session, std::span<pollfd> entries, int timeout_ms);
Result open_epoll(Session& session);
Result watch(Session& session, int epfd, int operation, int fd, const epoll_event* event);
Result wait_epoll(Session& session, int epfd, std::span<epoll_event> into, int timeout_ms);

// Pipes: pipes.cpp.
Result open_pipe(Session& session, int ends[2]);
struct SpliceEnd {
  int fd = -1;
  const loff_t* offset = nullptr;
};
Result splice(Session& session, SpliceEnd from, SpliceEnd to, std::size_t size, unsigned flags);
/// Within run(): transfers what a pipe has, or has room for, now.
Result read_pipe(Session& session, const Thing& thing, std::span<std::byte> into);
Result write_pipe(Session& session, const Thing& thing, std::span<const std::byte> from);

/// Runs a call; it blocks if the descriptor is blocking.
Result run_on(Session& session, int fd, int flags, const Attempt& attempt);
/// Within run(): whether a call on this descriptor blocks.
bool is_blocking(Session& session, int fd, int flags);
/// Within run(): the live descriptor of a new object, or a negative errno.
Result show(Session& session, const Thing& thing);
/// Within run(): whether the open of a connection is complete; sets `out` to 0 or to the negative
/// errno of its failure.
Progress opened(Session& session, int fd, Result& out);

}  // namespace lockstep::tools::packetdrill
