// Two shards in one process with clients on the kernel's sockets, for the sanitizers.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <string>

#include "hw/poll/descriptor.hpp"
#include "tools/base/output/json.hpp"
#include "tools/verbs/serve/serve.hpp"

namespace lockstep::tools {
namespace {

constexpr auto patience = std::chrono::seconds(60);
constexpr std::uint32_t connections = 24;
constexpr std::size_t body_octets = 20'000;

/// Why the test cannot run here; empty: it can.
std::string why_not() {
  if (access("/dev/net/tun", R_OK | W_OK) != 0) {
    return "/dev/net/tun cannot be had";
  }
  // The namespace is for this thread and its children: the TAP is invisible to others.
  return unshare(CLONE_NEWNET) == 0 ? "" : "no right to a network namespace: run as root";
}

/// A connection to the server, or none if it ends or does not answer in time.
hw::Descriptor connected(const std::future<int>& served) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(80);
  inet_pton(AF_INET, "10.9.0.2", &to.sin_addr);
  auto const end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end &&
         served.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) {
    hw::Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    timeval const limit{10, 0};
    setsockopt(made.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(made.number(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(made.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
      return made;
    }
    usleep(10'000);  // the TAP does not exist yet, or nothing listens
  }
  return {};
}

/// The number of octets until the end; test_shards.py checks the content of answers.
std::size_t heard_from(const hw::Descriptor& socket) {
  std::array<char, 65'536> into;
  std::size_t out = 0;
  ssize_t got = 0;
  while ((got = recv(socket.number(), into.data(), into.size(), 0)) > 0) {
    out += static_cast<std::size_t>(got);
  }
  return got == 0 ? out : 0;
}

TEST(Shards, TwoAnswerAndEndTogether) {
  if (std::string const reason = why_not(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  auto const summary = std::filesystem::path(testing::TempDir()) / "two_shards.json";
  ServeOptions options;
  options.tap = "lock0";
  options.addresses = {"10.9.0.2/24"};
  options.hosts = {"10.9.0.1/24"};
  options.shards = 2;
  options.connections = 256;
  options.json = summary.string();
  options.seccomp = "off";  // the clients are threads of this process
  auto served = std::async(std::launch::async, [&options] { return run_serve_http(options); });
  // The signal is for the server's threads only, as in the program, which has no others.
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  std::string const request = "GET /bytes/" + std::to_string(body_octets) +
                              " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  for (std::uint32_t i = 0; i < connections; ++i) {
    hw::Descriptor const socket = connected(served);
    if (!socket.is_open()) {
      ADD_FAILURE() << "connection " << i << " was not opened";
      break;
    }
    EXPECT_EQ(send(socket.number(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    EXPECT_GT(heard_from(socket), body_octets);
  }
  kill(getpid(), SIGINT);  // the server then ends within some seconds
  EXPECT_EQ(served.get(), 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::ifstream file(summary);
  auto const said = parse_json(file);
  EXPECT_EQ(said["requests"], connections);
  ASSERT_EQ(said["shards"].size(), 2u);
  EXPECT_GT(said["shards"][0]["connections"], 0);
  EXPECT_GT(said["shards"][1]["connections"], 0);
}

}  // namespace
}  // namespace lockstep::tools
