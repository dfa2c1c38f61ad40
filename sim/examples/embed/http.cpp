// A web page on a TAP, in C++: the TAP and the loop of lockstep::hw, the calls of
// lockstep::sockets.
//   http lock0 10.9.0.2 10.9.0.1
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack/stack.hpp"
#include "hw/poll/loop.hpp"
#include "hw/tap/port.hpp"
#include "hw/tap/setup.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace {

using lockstep::Config;
using lockstep::IpAddress;
using lockstep::Stack;

constexpr std::string_view page =
    "<!DOCTYPE html><title>Lockstep</title><p>This page came from a stack in this program.\n";
constexpr std::size_t request_max = 8192;

std::string response(std::string_view request) {
  bool const found = request.starts_with("GET / ");
  std::string const body(found ? page : "There is one page, /\n");
  return std::string(found ? "HTTP/1.1 200 OK" : "HTTP/1.1 404 Not Found") +
         "\r\nContent-Type: " + (found ? "text/html" : "text/plain") +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
         body;
}

// The server: work() is called in each turn.
class Pages {
 public:
  explicit Pages(lockstep_sockets* s) : s_(s) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(80);
    listener_ = lockstep_socket(s_, AF_INET, SOCK_STREAM, 0);
    lockstep_bind(s_, listener_, reinterpret_cast<const sockaddr*>(&name), sizeof name);
    lockstep_listen(s_, listener_, 128);
    lockstep_on_turn(
        s_, [](lockstep_sockets*, void* self) { static_cast<Pages*>(self)->work(); }, this);
  }
  unsigned long served() const { return served_; }

 private:
  // What a client has sent, and then what it has not taken yet.
  struct Client {
    std::string request;
    std::string rest;
    bool answered = false;
  };

  void work() {
    for (int fd = accept(); fd >= 0; fd = accept()) {
      clients_[fd];
    }
    for (auto each = clients_.begin(); each != clients_.end();) {
      if (serve(each->first, each->second)) {
        ++each;
      } else {
        lockstep_close(s_, each->first);
        each = clients_.erase(each);
      }
    }
  }

  int accept() { return lockstep_accept(s_, listener_, nullptr, nullptr); }

  // False: the connection is to be closed.
  bool serve(int fd, Client& client) {
    std::array<char, 4096> data{};
    ssize_t const got = lockstep_recv(s_, fd, data.data(), data.size(), 0);
    bool const failed = got < 0 && errno != EAGAIN;
    if (failed || (got == 0 && !client.answered)) {
      return false;
    }
    client.request.append(data.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    if (!client.answered && client.request.find("\r\n\r\n") != std::string::npos) {
      client.rest = response(client.request);
      client.answered = true;
      ++served_;
    }
    // A client that has closed its half gets the rest too.
    ssize_t const sent = lockstep_send(s_, fd, client.rest.data(), client.rest.size(), 0);
    client.rest.erase(0, sent > 0 ? static_cast<std::size_t>(sent) : 0);
    bool const lost = sent < 0 && errno != EAGAIN;
    bool const whole = client.answered && client.rest.empty();
    return !lost && !whole && client.request.size() <= request_max;
  }

  lockstep_sockets* s_;
  int listener_ = -1;
  unsigned long served_ = 0;
  std::map<int, Client> clients_;
};

IpAddress address_of(const char* text) {
  in_addr octets{};
  return inet_pton(AF_INET, text, &octets) == 1
             ? IpAddress::from(lockstep::Ipv4{ntohl(octets.s_addr)})
             : IpAddress{};
}

// A stack with this address, whose keys the system draws.
bool configure(Config& config, const char* address) {
  lockstep::Entropy entropy{};
  config.addresses[0] = {address_of(address), 24};
  config.address_count = lockstep::Count{1};
  auto& mac = config.mac.octets;
  bool const drawn = getrandom(entropy.data(), sizeof entropy, 0) == ssize_t{sizeof entropy} &&
                     getrandom(mac.data(), sizeof mac, 0) == ssize_t{sizeof mac};
  mac[0] = 2;  // of one host, and administered locally
  draw_keys(config, entropy);
  return drawn;
}

int fail(const std::string& why) {
  std::fprintf(stderr, "http: %s\n", why.c_str());
  return 3;
}

struct Line {
  alignas(64) std::array<std::byte, 64> bytes;
};

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: http TAP ADDRESS ADDRESS-OF-THE-KERNEL\n");
    return 2;
  }
  Config config;
  if (!configure(config, words[2])) {
    return fail("the system's random numbers cannot be read");
  }
  if (auto const fault = fault_of(config); !fault.empty()) {
    return fail(std::string(fault));
  }
  lockstep::hw::TapInterface tap;
  if (auto const trouble = tap.open({.name = words[1], .hosts = {{address_of(words[3]), 24}}})) {
    return fail(trouble.text);
  }
  lockstep::hw::StopSignals signals;
  if (auto const trouble = signals.open()) {
    return fail(trouble.text);
  }
  std::vector<Line> memory(Stack::arena_bytes(config) / sizeof(Line) + 1);
  Stack stack(config, std::as_writable_bytes(std::span(memory)));
  lockstep::hw::TapPort port(tap.take_device(), {config.mtu, config.burst_frames});
  lockstep::tools::Sockets sockets(stack);
  Pages pages(sockets.c());
  lockstep::hw::NoWatcher nobody;
  lockstep::hw::Loop loop(stack, port, sockets, nobody, signals, {});
  std::printf("http://%s/ on %s\n", words[2], words[1]);
  std::fflush(stdout);
  bool const deleted = loop.run() == lockstep::hw::Ending::gone;
  std::printf("%lu requests\n", pages.served());
  return deleted ? fail(std::string(words[1]) + " was deleted") : 0;
}
