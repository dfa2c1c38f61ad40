// The sockets of one stack for Python; a failed call throws its errno.
#include "tools/python/socket_calls.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>

#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/calls/configure.hpp"

namespace lockstep::tools::python {
namespace {

/// A name in the form that the socket calls take.
struct Stored {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Stored stored(const SocketCalls::Name& name, bool v6) {
  Stored out;
  IpAddress address = v6 ? IpAddress{} : IpAddress::from(Ipv4{});
  if (!name.first.empty()) {
    address = address_of(name.first, "an address");
  }
  if (!v6 && !address.is_v4()) {
    throw SocketFailure("the address is of another family", EAFNOSUPPORT);
  }
  write_name({address, Port{name.second}}, v6, out.get(), &out.length);
  return out;
}

Calls& without_sockets(Calls& calls) {
  if (calls.inbox().sockets != nullptr) {
    throw Failure(ExitCode::bad_input, "this stack has sockets already, expected one without");
  }
  return calls;
}

}  // namespace

SocketCalls::SocketCalls(Calls& calls) : calls_(without_sockets(calls)), sockets_(calls.stack()) {
  calls.inbox().sockets = &sockets_;
}

std::int64_t SocketCalls::done(const char* call, Result result) {
  if (result < 0) {
    throw SocketFailure(call, static_cast<int>(-result));
  }
  calls_.touched();
  return result;
}

int SocketCalls::socket(bool v6) {
  return static_cast<int>(done("socket", sockets_.socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0)));
}

void SocketCalls::bind(int fd, const Name& name, bool v6) {
  Stored const to = stored(name, v6);
  done("bind", sockets_.bind(fd, {to.get(), to.length}));
}

void SocketCalls::listen(int fd, int backlog) { done("listen", sockets_.listen(fd, backlog)); }

int SocketCalls::accept(int fd) {
  return static_cast<int>(done("accept", sockets_.accept(fd, nullptr, nullptr, 0)));
}

bool SocketCalls::connect(int fd, const Name& name, bool v6) {
  Stored const to = stored(name, v6);
  Result const result = sockets_.connect(fd, {to.get(), to.length});
  calls_.touched();
  if (result != -EINPROGRESS) {
    done("connect", result);
  }
  return result == 0;
}

void SocketCalls::shutdown(int fd, int how) { done("shutdown", sockets_.shutdown(fd, how)); }

void SocketCalls::close(int fd) { done("close", sockets_.close(fd)); }

SocketCalls::Name SocketCalls::name_from(const char* call, int fd, bool peer) {
  Stored out;
  done(call, peer ? sockets_.peer_name(fd, out.get(), &out.length)
                  : sockets_.local_name(fd, out.get(), &out.length));
  Endpoint end;
  read_name({out.get(), out.length}, out.storage.ss_family == AF_INET6, end);
  return {text_of(end.address), end.port.value};
}

SocketCalls::Name SocketCalls::local_name(int fd) { return name_from("getsockname", fd, false); }
SocketCalls::Name SocketCalls::peer_name(int fd) { return name_from("getpeername", fd, true); }

std::vector<std::byte> SocketCalls::receive(int fd, std::uint32_t most, int flags) {
  std::vector<std::byte> out(most);
  iovec const part{out.data(), out.size()};
  out.resize(static_cast<std::size_t>(done("recv", sockets_.receive(fd, {&part, 1}, flags))));
  return out;
}

std::uint64_t SocketCalls::send(int fd, Packet data, int flags) {
  // The const_cast is safe: send() only reads the vector.
  iovec const part{const_cast<std::byte*>(data.data()), data.size()};
  return static_cast<std::uint64_t>(done("send", sockets_.send(fd, {&part, 1}, flags)));
}

std::vector<std::byte> SocketCalls::get_option(int fd, int level, int name, std::uint32_t most) {
  std::vector<std::byte> out(most);
  auto length = static_cast<socklen_t>(most);
  done("getsockopt", sockets_.get_option(fd, level, name, out.data(), &length));
  out.resize(length);
  return out;
}

void SocketCalls::set_option(int fd, int level, int name, Packet value) {
  done("setsockopt",
       sockets_.set_option(fd, level, name, value.data(), static_cast<socklen_t>(value.size())));
}

std::uint64_t SocketCalls::send_parts(int fd, const std::vector<Packet>& parts) {
  std::vector<iovec> vector;
  for (Packet const part : parts) {
    vector.push_back({const_cast<std::byte*>(part.data()), part.size()});
  }
  return static_cast<std::uint64_t>(done("writev", sockets_.send(fd, vector, 0)));
}

std::vector<std::vector<std::byte>> SocketCalls::receive_parts(
    int fd, const std::vector<std::uint32_t>& most) {
  std::vector<std::vector<std::byte>> out;
  std::vector<iovec> vector;
  for (std::uint32_t const size : most) {
    out.emplace_back(size);
  }
  for (std::vector<std::byte>& part : out) {
    vector.push_back({part.data(), part.size()});
  }
  auto left = static_cast<std::size_t>(done("readv", sockets_.receive(fd, vector, 0)));
  for (std::vector<std::byte>& part : out) {
    part.resize(std::min(part.size(), left));
    left -= part.size();
  }
  return out;
}

int SocketCalls::control(int fd, int command, int argument) {
  return static_cast<int>(done("fcntl", sockets_.control(fd, command, argument)));
}

int SocketCalls::query(int fd, unsigned long request) {
  int value = 0;
  done("ioctl", sockets_.query(fd, request, &value));
  return value;
}

int SocketCalls::poll(int fd, int events) {
  pollfd entry{fd, static_cast<short>(events), 0};
  done("poll", sockets_.poll({&entry, 1}));
  return entry.revents;
}

int SocketCalls::create_epoll() {
  return static_cast<int>(done("epoll_create1", sockets_.create_epoll(0)));
}

void SocketCalls::watch(int epfd, int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  done("epoll_ctl", sockets_.watch(epfd, operation, fd, &event));
}

std::vector<std::pair<int, std::uint32_t>> SocketCalls::ready(int epfd, std::uint32_t most) {
  std::vector<epoll_event> events(most);
  auto const count = static_cast<std::size_t>(done("epoll_wait", sockets_.ready(epfd, events)));
  std::vector<std::pair<int, std::uint32_t>> out;
  for (std::size_t i = 0; i < count; ++i) {
    // Copies, because references into the packed record are not allowed.
    int const fd = events[i].data.fd;
    std::uint32_t const flags = events[i].events;
    out.emplace_back(fd, flags);
  }
  return out;
}

}  // namespace lockstep::tools::python
