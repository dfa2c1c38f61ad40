// The kernel's stack with as little as can be above it: epoll, a socket with SO_REUSEPORT a thread.
// What tools/bench wire and tools/evidence workloads-wire measure beside `lockstep serve`.
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

struct Asked {
  std::uint16_t port = 8080;
  std::uint32_t threads = 1;
  std::uint32_t processes = 1;
  bool echo = false;
};

constexpr std::size_t request_max = 4096;

/// What is left of an answer, and what has come of a request.
struct Talk {
  int descriptor = -1;
  std::string head;           // of an answer, not yet sent
  std::uint64_t body_at = 0;  // of the pattern
  std::uint64_t body_left = 0;
  bool waits_for_room = false;
  bool ends = false;  // after this answer
  std::string come;   // octets of a request that is not whole, or not yet answered
};

/// One thread's.
class Server {
 public:
  Server(const Asked& asked, const http::Site& site) : asked_(asked), site_(site) {}

  // Says why not, or nothing.
  std::string open() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int const one = 1;
    sockaddr_in local{};
    local.sin_family = AF_INET;
    local.sin_port = htons(asked_.port);
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
          go_on(talks_[static_cast<std::size_t>(each.data.fd)], each.events);
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
      if (place >= talks_.size()) {
        talks_.resize(place * 2 + 64);
      }
      talks_[place] = Talk{};
      talks_[place].descriptor = made;
    }
  }

  void close(Talk& talk) const {
    ::close(talk.descriptor);
    talk.descriptor = -1;
  }

  void go_on(Talk& talk, std::uint32_t events) {
    if (talk.descriptor < 0) {
      return;
    }
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
      close(talk);
      return;
    }
    if ((events & EPOLLOUT) != 0 && !send_all(talk)) {
      return;
    }
    if ((events & EPOLLIN) != 0 && !read_more(talk)) {
      return;
    }
    if (asked_.echo) {
      return;
    }
    while (talk.descriptor >= 0 && talk.head.empty() && talk.body_left == 0 && answer(talk)) {
      if (!send_all(talk)) {
        return;
      }
    }
  }

  // False: the connection is no more.
  bool read_more(Talk& talk) {
    ssize_t const got = recv(talk.descriptor, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && errno == EAGAIN) {
      return true;
    }
    bool const fits = got > 0 && talk.come.size() + static_cast<std::size_t>(got) <= request_max;
    if (!fits) {
      close(talk);
      return false;
    }
    std::string_view const text(buffer_.data(), static_cast<std::size_t>(got));
    if (!asked_.echo) {
      talk.come += text;
      return true;
    }
    talk.head += text;
    return send_all(talk);
  }

  // Takes one request off what has come, if it is whole, and makes its head.
  bool answer(Talk& talk) const {
    std::size_t const end = talk.come.find("\r\n\r\n");
    if (end == std::string::npos) {
      return false;
    }
    std::string_view const text = std::string_view(talk.come).substr(0, end + 4);
    constexpr std::string_view begin = "GET /bytes/";
    std::uint64_t length = 0;
    const char* const last = text.data() + text.size();
    bool const known = text.starts_with(begin) &&
                       std::from_chars(text.data() + begin.size(), last, length).ec == std::errc{};
    talk.ends = !known || text.find("onnection: close\r\n") != std::string_view::npos;
    talk.head = fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}\r\n",
                            known ? "200 OK" : "404 Not Found", known ? length : 0,
                            talk.ends ? "Connection: close\r\n" : "");
    talk.body_at = 0;
    talk.body_left = known ? length : 0;
    talk.come.erase(0, end + 4);
    return true;
  }

  // False: the connection is no more.
  bool send_all(Talk& talk) {
    while (!talk.head.empty() || talk.body_left != 0) {
      auto const pattern = site_.pattern();
      std::uint64_t const part = std::min(talk.body_left, pattern.size() - talk.body_at);
      std::array<iovec, 2> parts{{{talk.head.data(), talk.head.size()},
                                  {const_cast<std::byte*>(pattern.data() + talk.body_at), part}}};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      ssize_t const sent = sendmsg(talk.descriptor, &message, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) {
        return wait_for_room(talk, true);
      }
      if (sent < 0) {
        close(talk);
        return false;
      }
      auto const of_head = std::min(static_cast<std::size_t>(sent), talk.head.size());
      auto const of_body = static_cast<std::uint64_t>(sent) - of_head;
      talk.head.erase(0, of_head);
      talk.body_left -= of_body;
      talk.body_at = (talk.body_at + of_body) % pattern.size();
    }
    if (talk.ends) {
      close(talk);
      return false;
    }
    return wait_for_room(talk, false);
  }

  // While an answer waits, nothing more is read.
  bool wait_for_room(Talk& talk, bool waits) {
    if (talk.waits_for_room != waits) {
      talk.waits_for_room = waits;
      static_cast<void>(
          watch(EPOLL_CTL_MOD, talk.descriptor, std::uint32_t{waits ? EPOLLOUT : EPOLLIN}));
    }
    return true;
  }

  Asked asked_;
  const http::Site& site_;
  int listener_ = -1;
  int poll_ = -1;
  std::vector<Talk> talks_;  // by their descriptors
  std::array<char, request_max> buffer_{};
};

// The first one is the parent of the others, which go with it.
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
  Asked asked;
  CLI::App app{
      "GET /bytes/N, or an echo, by epoll and the kernel's sockets.\n"
      "Example: bench_epoll --port 8080 --threads 2"};
  app.add_option("--port", asked.port, "where it listens");
  app.add_option("--threads", asked.threads, "each with a socket of its own (SO_REUSEPORT)")
      ->check(CLI::Range(1u, 256u));
  app.add_option("--processes", asked.processes,
                 "each with so many threads, and as many open files as the limit allows")
      ->check(CLI::Range(1u, 256u));
  app.add_flag("--echo", asked.echo, "send back what comes");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int const code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  http::Site site;
  site.complete();
  become_several(asked.processes);
  std::vector<Server> servers(asked.threads, Server(asked, site));
  for (Server& each : servers) {
    if (std::string const trouble = each.open(); !trouble.empty()) {
      fmt::print(stderr, "bench_epoll: port {}: {}: choose another\n", asked.port, trouble);
      return 3;
    }
  }
  fmt::print("serving on port {}\n", asked.port);
  std::fflush(stdout);
  std::vector<std::thread> threads;
  for (Server& each : servers) {
    threads.emplace_back([&each] { each.run(); });
  }
  threads.front().join();
}
