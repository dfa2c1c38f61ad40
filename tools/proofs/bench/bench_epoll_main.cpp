// A minimal server on the kernel's stack: epoll, and one SO_REUSEPORT socket per thread.
// tools/bench wire and tools/evidence workloads-wire compare it with `lockstep serve`.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/units/check.hpp"
#include "tools/lib/http/site.hpp"

namespace {

using namespace lockstep;

struct Options {
  std::uint16_t port = 8080;
  std::uint32_t threads = 1;
  std::uint32_t processes = 1;
  bool echo = false;
};

constexpr std::size_t request_max = 4096;

/// One connection: the rest of the answer being sent, and the request received so far.
struct Connection {
  int descriptor = -1;
  std::string head;           // unsent part of the answer's head
  std::uint64_t body_at = 0;  // position in the pattern
  std::uint64_t body_left = 0;
  bool waits_for_space = false;
  bool ends = false;     // close after this answer
  std::string received;  // octets of requests that are incomplete or not yet answered
};

/// The server of one thread.
class Server {
 public:
  Server(const Options& options, const http::Site& site) : options_(options), site_(site) {}

  // Returns an error message, empty on success.
  std::string open() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int const one = 1;
    sockaddr_in local{};
    local.sin_family = AF_INET;
    local.sin_port = htons(options_.port);
    bool const fine =
        listener_ >= 0 && setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        setsockopt(listener_, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) == 0 &&
        bind(listener_, reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0 &&
        listen(listener_, 16'384) == 0;
    poll_ = fine ? epoll_create1(EPOLL_CLOEXEC) : -1;
    return poll_ >= 0 && watch(EPOLL_CTL_ADD, listener_, EPOLLIN) ? "" : std::strerror(errno);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> ready{};
    while (true) {
      int const count = epoll_wait(poll_, ready.data(), static_cast<int>(ready.size()), -1);
      for (int i = 0; i < count; ++i) {
        epoll_event const& each = ready[static_cast<std::size_t>(i)];
        if (each.data.fd == listener_) {
          accept_all();
        } else {
          go_on(connections_[static_cast<std::size_t>(each.data.fd)], each.events);
        }
      }
    }
  }

 private:
  bool watch(int act, int descriptor, std::uint32_t events) const {
    epoll_event wanted{};
    wanted.events = events;
    wanted.data.fd = descriptor;
    return epoll_ctl(poll_, act, descriptor, &wanted) == 0;
  }

  void accept_all() {
    while (true) {
      int const made = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (made < 0) {
        return;
      }
      int const one = 1;
      if (setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0 ||
          !watch(EPOLL_CTL_ADD, made, EPOLLIN)) {
        ::close(made);
        continue;
      }
      auto const place = static_cast<std::size_t>(made);
      if (place >= connections_.size()) {
        connections_.resize(place * 2 + 64);
      }
      connections_[place] = Connection{};
      connections_[place].descriptor = made;
    }
  }

  void close(Connection& connection) const {
    ::close(connection.descriptor);
    connection.descriptor = -1;
  }

  void go_on(Connection& connection, std::uint32_t events) {
    if (connection.descriptor < 0) {
      return;
    }
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
      close(connection);
      return;
    }
    if ((events & EPOLLOUT) != 0 && !send_all(connection)) {
      return;
    }
    if ((events & EPOLLIN) != 0 && !read_more(connection)) {
      return;
    }
    if (options_.echo) {
      return;
    }
    while (connection.descriptor >= 0 && connection.head.empty() && connection.body_left == 0 &&
           answer(connection)) {
      if (!send_all(connection)) {
        return;
      }
    }
  }

  // Returns false if the connection was closed.
  bool read_more(Connection& connection) {
    ssize_t const got = recv(connection.descriptor, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && errno == EAGAIN) {
      return true;
    }
    bool const fits =
        got > 0 && connection.received.size() + static_cast<std::size_t>(got) <= request_max;
    if (!fits) {
      close(connection);
      return false;
    }
    std::string_view const text(buffer_.data(), static_cast<std::size_t>(got));
    if (!options_.echo) {
      connection.received += text;
      return true;
    }
    connection.head += text;
    return send_all(connection);
  }

  // Takes one complete request from the received octets and makes the answer's head; false if none.
  bool answer(Connection& connection) const {
    std::size_t const end = connection.received.find("\r\n\r\n");
    if (end == std::string::npos) {
      return false;
    }
    std::string_view const text = std::string_view(connection.received).substr(0, end + 4);
    constexpr std::string_view begin = "GET /bytes/";
    std::uint64_t length = 0;
    const char* const last = text.data() + text.size();
    bool const known = text.starts_with(begin) &&
                       std::from_chars(text.data() + begin.size(), last, length).ec == std::errc{};
    connection.ends = !known || text.find("onnection: close\r\n") != std::string_view::npos;
    connection.head = fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}\r\n",
                                  known ? "200 OK" : "404 Not Found", known ? length : 0,
                                  connection.ends ? "Connection: close\r\n" : "");
    connection.body_at = 0;
    connection.body_left = known ? length : 0;
    connection.received.erase(0, end + 4);
    return true;
  }

  // Returns false if the connection was closed.
  bool send_all(Connection& connection) {
    while (!connection.head.empty() || connection.body_left != 0) {
      auto const pattern = site_.pattern();
      std::uint64_t const part =
          std::min(connection.body_left, pattern.size() - connection.body_at);
      std::array<iovec, 2> parts{
          {{connection.head.data(), connection.head.size()},
           {const_cast<std::byte*>(pattern.data() + connection.body_at), part}}};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      ssize_t const sent = sendmsg(connection.descriptor, &message, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) {
        return wait_for_space(connection, true);
      }
      if (sent < 0) {
        close(connection);
        return false;
      }
      auto const of_head = std::min(static_cast<std::size_t>(sent), connection.head.size());
      auto const of_body = static_cast<std::uint64_t>(sent) - of_head;
      connection.head.erase(0, of_head);
      connection.body_left -= of_body;
      connection.body_at = (connection.body_at + of_body) % pattern.size();
    }
    if (connection.ends) {
      close(connection);
      return false;
    }
    return wait_for_space(connection, false);
  }

  // While an answer waits for space in the socket, nothing more is read.
  bool wait_for_space(Connection& connection, bool waits) {
    if (connection.waits_for_space != waits) {
      connection.waits_for_space = waits;
      static_cast<void>(
          watch(EPOLL_CTL_MOD, connection.descriptor, std::uint32_t{waits ? EPOLLOUT : EPOLLIN}));
    }
    return true;
  }

  Options options_;
  const http::Site& site_;
  int listener_ = -1;
  int poll_ = -1;
  std::vector<Connection> connections_;  // indexed by descriptor
  std::array<char, request_max> buffer_{};
};

// The first process is the parent of the others, which end with it.
void become_several(std::uint32_t processes) {
  for (std::uint32_t i = 1; i < processes; ++i) {
    if (fork() == 0) {
      static_cast<void>(prctl(PR_SET_PDEATHSIG, SIGKILL));
      return;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Serves GET /bytes/N, or an echo, with epoll and the kernel's sockets.\n"
      "Example: bench_epoll --port 8080 --threads 2"};
  app.add_option("--port", options.port, "port to listen on");
  app.add_option("--threads", options.threads, "threads, each with its own socket (SO_REUSEPORT)")
      ->check(CLI::Range(1u, 256u));
  app.add_option("--processes", options.processes,
                 "processes, each with --threads threads and its own limit of open files")
      ->check(CLI::Range(1u, 256u));
  app.add_flag("--echo", options.echo, "send received data back");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int const code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  http::Site site;
  site.complete();
  become_several(options.processes);
  std::vector<Server> servers(options.threads, Server(options, site));
  for (Server& each : servers) {
    if (std::string const error = each.open(); !error.empty()) {
      fmt::print(stderr, "bench_epoll: port {}: {}: choose another\n", options.port, error);
      return 3;
    }
  }
  fmt::print("serving on port {}\n", options.port);
  std::fflush(stdout);
  std::vector<std::thread> threads;
  for (Server& each : servers) {
    threads.emplace_back([&each] { each.run(); });
  }
  threads.front().join();
}
