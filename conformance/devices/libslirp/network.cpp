// The virtual network of libslirp: its clock and timers, the frames of the tester, and the sockets
// of the host behind it.
#include "conformance/devices/libslirp/network.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

namespace lockstep::conformance::libslirp {
namespace {

constexpr std::uint64_t ms = 1'000'000;
/// The library's clock at the creation of the device; it takes an instant of 0 for none.
constexpr std::uint64_t origin_ns = 1'000 * ms;
/// The periods of its two timers, in milliseconds, and what it says when none of them runs.
constexpr std::uint64_t slow_ms = 499;
constexpr std::uint32_t idle_ms = 1'000;
/// The largest MTU that it takes.
constexpr std::uint32_t mtu_max = 65'521;
/// Rounds after which the sockets must be quiet.
constexpr int rounds_max = 100'000;
constexpr std::size_t ethernet_bytes = 14;
constexpr std::uint16_t type_ip4 = 0x0800, type_arp = 0x0806, type_ip6 = 0x86dd;
constexpr std::array<std::uint8_t, 6> tester_mac{0x52, 0x55, 0, 0, 0, 2};
/// The descriptors that the library watches.
struct Watched {
  std::vector<pollfd> all;
};

/// Whether make_room() has made room.
bool has_room = true;

void put_16(Octets& out, unsigned value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

void put(Octets& out, const void* from, std::size_t length) {
  const auto* const first = static_cast<const std::uint8_t*>(from);
  out.insert(out.end(), first, first + length);
}

std::uint64_t clock_ns(const lockstep_device* d) { return d->now_ns - d->start_ns + origin_ns; }

}  // namespace

Name with_port(const Name& like, std::uint16_t port) {
  Name out = like;
  (out.any.sa_family == AF_INET6 ? out.v6.sin6_port : out.v4.sin_port) = htons(port);
  return out;
}

Name loopback(const lockstep_device* d, std::uint16_t port) {
  Name out{};
  if (d->six) {
    out.v6.sin6_family = AF_INET6;
    out.v6.sin6_addr = in6addr_loopback;
  } else {
    out.v4.sin_family = AF_INET;
    out.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  return with_port(out, port);
}

std::vector<Listed> connections(lockstep_device* d) {
  std::vector<Listed> out;
  std::unique_ptr<char, void (*)(void*)> const text(slirp_connection_info(d->slirp), std::free);
  std::istringstream lines(text.get());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, source, destination;
    Listed one;
    words >> kind >> one.descriptor >> source >> one.source_port >> destination >>
        one.destination_port;
    if (words && kind.starts_with("TCP[") && kind != "TCP[HOST_FORWARD]") {
      one.state = kind.substr(4, kind.find(']') - 4);
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::uint16_t port_of(int descriptor, bool of_peer) {
  Name name{};
  socklen_t length = sizeof name;
  (of_peer ? getpeername : getsockname)(descriptor, &name.any, &length);
  return ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
}

int roomy(int descriptor) {
  constexpr int most = 1 << 30;  // the system's limit is taken
  if (!has_room) {
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &most, sizeof most);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
  }
  return descriptor;
}

namespace {

// --- what the library calls ---

ssize_t on_packet(const void* frame, std::size_t length, void* opaque) {
  auto* const d = static_cast<lockstep_device*>(opaque);
  const auto* const first = static_cast<const std::uint8_t*>(frame);
  unsigned const type = length < ethernet_bytes ? 0U : first[12] * 256U + first[13];
  if (type == type_ip4 || type == type_ip6) {
    d->sent.emplace_back(first + ethernet_bytes, first + length);
  }
  return static_cast<ssize_t>(length);
}

void on_guest_error(const char* message, void*) { std::fprintf(stderr, "%s\n", message); }

std::int64_t on_clock(void* opaque) {
  return static_cast<std::int64_t>(clock_ns(static_cast<lockstep_device*>(opaque)));
}

// The library's only timer sends router advertisements, at random instants. A router is not tested.
void* on_timer_new(SlirpTimerCb, void*, void* opaque) { return opaque; }
void on_timer_free(void*, void*) {}
void on_timer_mod(void*, std::int64_t, void*) {}
void on_descriptor_gone(int, void*) {}
void on_notify(void*) {}

int on_add(int descriptor, int events, void* opaque) {
  auto& all = static_cast<Watched*>(opaque)->all;
  const auto when = [events](int flag, int wanted) { return (events & flag) != 0 ? wanted : 0; };
  int const wanted =
      when(SLIRP_POLL_IN, POLLIN) | when(SLIRP_POLL_OUT, POLLOUT) | when(SLIRP_POLL_PRI, POLLPRI);
  all.push_back({descriptor, static_cast<short>(wanted), 0});
  return static_cast<int>(all.size()) - 1;
}

int on_asked(int index, void* opaque) {
  int const seen = static_cast<Watched*>(opaque)->all[static_cast<std::size_t>(index)].revents;
  const auto when = [seen](int flag, int told) { return (seen & flag) != 0 ? told : 0; };
  return when(POLLIN, SLIRP_POLL_IN) | when(POLLOUT, SLIRP_POLL_OUT) |
         when(POLLPRI, SLIRP_POLL_PRI) | when(POLLERR, SLIRP_POLL_ERR) |
         when(POLLHUP, SLIRP_POLL_HUP);
}

/// The library connects to the host when a SYN arrives. The program gets the connection when the
/// tester's handshake is complete.
void note_established(lockstep_device* d) {
  const auto listens = [](const Socket& each) { return each.listens_on >= 0; };
  if (std::ranges::any_of(d->sockets, listens)) {
    for (const Listed& each : connections(d)) {
      if (each.state != "SYN_RCVD" && each.state != "SYN_SENT") {
        d->established.insert(port_of(each.descriptor, false));
      }
    }
  }
}

}  // namespace

void settle(lockstep_device* d) {
  std::uint64_t const at = clock_ns(d) / ms;
  for (int round = 0;; round++) {
    if (round == rounds_max) {
      std::fputs("libslirp: its sockets do not become quiet\n", stderr);
      std::abort();
    }
    Watched watched;
    std::uint32_t wait_ms = UINT32_MAX;
    slirp_pollfds_fill(d->slirp, &wait_ms, on_add, &watched);
    int const ready = poll(watched.all.data(), watched.all.size(), 0);
    bool const slow = wait_ms < idle_ms;
    bool const slow_is_due = slow && at - d->slow_at_ms >= slow_ms;
    d->deadline_ns = LOCKSTEP_DEVICE_NEVER;
    if (slow) {
      // The library names how long it may sleep; its slow timer is due no later than this.
      std::uint64_t const due =
          wait_ms < slow_ms ? at + wait_ms : (slow_is_due ? at : d->slow_at_ms) + slow_ms;
      d->deadline_ns = d->start_ns + due * ms - origin_ns;
    }
    if (ready <= 0 && round != 0 && !slow_is_due) {
      note_established(d);
      return;
    }
    slirp_pollfds_poll(d->slirp, ready < 0 ? 1 : 0, on_asked, &watched);
    d->slow_at_ms = slow_is_due ? at : d->slow_at_ms;
  }
}

namespace {

// --- making it ---

/// One option "name=value"; the reason if it cannot be set.
std::string fault_of_option(std::string_view line) {
  std::size_t const sign = line.find('=');
  if (sign == std::string_view::npos) {
    return "expected name=value, found " + std::string(line);
  }
  return line == "profile=rfc" ? ""
                               : "unsupported: no way to set " + std::string(line.substr(0, sign)) +
                                     " to " + std::string(line.substr(sign + 1));
}

std::string fault_of_options(std::string_view lines) {
  while (!lines.empty()) {
    std::string_view const line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (std::string fault = line.empty() ? "" : fault_of_option(line); !fault.empty()) {
      return fault;
    }
  }
  return "";
}

bool read_address(Name& out, const char* text) {
  bool const six = std::strchr(text, ':') != nullptr;
  out.any.sa_family = six ? AF_INET6 : AF_INET;
  void* const at = six ? static_cast<void*>(&out.v6.sin6_addr) : &out.v4.sin_addr;
  return inet_pton(out.any.sa_family, text, at) == 1;
}

/// Buffers of the host's sockets in which there is always room: what does not fit waits for a
/// probe, in real time. Where /proc cannot be written, roomy() does what it can.
void make_room() {
  for (const char* const path : {"/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem"}) {
    if (std::FILE* const file = std::fopen(path, "w"); file != nullptr) {
      std::fputs("4096 33554432 33554432", file);
      has_room = std::fclose(file) == 0 && has_room;
    } else {
      has_room = false;
    }
  }
}

void on_descriptor(int descriptor, void*) { roomy(descriptor); }

/// A network namespace in which there is nothing but the loopback interface; an error of errno.
int enter_namespace() {
  static bool entered = false;
  if (entered) {
    return 0;
  }
  // The user namespace allows the other one to a process without privileges.
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && unshare(CLONE_NEWNET) != 0) {
    return errno;
  }
  int const any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  int const error = any < 0 || ioctl(any, SIOCSIFFLAGS, &request) != 0 ? errno : 0;
  close(any);
  make_room();
  entered = error == 0;
  return error;
}

/// An IPv4 address of the net that is neither of the two.
in_addr free_address(const lockstep_device* d, std::uint32_t mask) {
  std::uint32_t const local = ntohl(d->local.v4.sin_addr.s_addr);
  std::uint32_t const remote = ntohl(d->remote.v4.sin_addr.s_addr);
  std::uint32_t out = (local & mask) + 1;
  while (out == local || out == remote) {
    out++;
  }
  return {htonl(out)};
}

/// The virtual network: the device's address is the host's, the tester is the guest.
SlirpConfig config_of(const lockstep_device* d, std::uint32_t mtu) {
  constexpr std::uint32_t mask = 0xffffff00;
  SlirpConfig out{};
  out.version = SLIRP_CONFIG_VERSION_MAX;
  out.in_enabled = !d->six;
  out.in6_enabled = d->six;
  out.disable_dns = true;
  out.disable_dhcp = true;
  out.if_mtu = mtu;
  out.if_mru = mtu;
  if (d->six) {
    out.vprefix_len = 64;
    out.vhost6 = d->local.v6.sin6_addr;
    std::copy_n(out.vhost6.s6_addr, 8, out.vprefix_addr6.s6_addr);
    out.vnameserver6 = out.vhost6;
    out.vnameserver6.s6_addr[8] ^= 0x80;
  } else {
    out.vnetmask.s_addr = htonl(mask);
    out.vhost = d->local.v4.sin_addr;
    out.vnetwork.s_addr = out.vhost.s_addr & out.vnetmask.s_addr;
    out.vnameserver = free_address(d, mask);
    out.vdhcp_start = out.vnameserver;
  }
  return out;
}

void frame_in(lockstep_device* d, std::uint16_t type, const void* packet, std::size_t length) {
  constexpr std::array<std::uint8_t, 6> host_mac{0x52, 0x55, 0, 0, 0, 1};
  Octets frame;
  frame.reserve(ethernet_bytes + length);
  put(frame, host_mac.data(), host_mac.size());
  put(frame, tester_mac.data(), tester_mac.size());
  put_16(frame, type);
  put(frame, packet, length);
  slirp_input(d->slirp, frame.data(), static_cast<int>(frame.size()));
}

/// The tester announces its address by ARP.
void announce_4(lockstep_device* d) {
  Octets out{0, 1, 8, 0, 6, 4, 0, 1};  // Ethernet, IPv4, their lengths, a request
  const std::array<std::uint8_t, 6> nobody{};
  put(out, tester_mac.data(), tester_mac.size());
  put(out, &d->remote.v4.sin_addr, 4);
  put(out, nobody.data(), nobody.size());
  put(out, &d->remote.v4.sin_addr, 4);
  frame_in(d, type_arp, out.data(), out.size());
}

std::uint16_t checksum(const Octets& of, std::uint32_t sum) {
  for (std::size_t at = 0; at + 1 < of.size(); at += 2) {
    sum += of[at] * 256U + of[at + 1];
  }
  while (sum > 0xffff) {
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(~sum);
}

/// The tester announces its address by a neighbour advertisement (RFC 4861 4.4).
void announce_6(lockstep_device* d) {
  constexpr std::uint8_t icmp = 58, hops = 255;
  constexpr std::size_t checksum_at = 2;
  Octets body{136, 0, 0, 0, 0x20, 0, 0, 0};  // its type; flag: override
  put(body, &d->remote.v6.sin6_addr, 16);
  body.insert(body.end(), {2, 1});
  put(body, tester_mac.data(), tester_mac.size());
  Octets addresses;
  put(addresses, &d->remote.v6.sin6_addr, 16);
  put(addresses, &d->local.v6.sin6_addr, 16);
  Octets summed = addresses;
  put(summed, body.data(), body.size());
  std::uint16_t const sum = checksum(summed, static_cast<std::uint32_t>(body.size()) + icmp);
  body[checksum_at] = static_cast<std::uint8_t>(sum >> 8);
  body[checksum_at + 1] = static_cast<std::uint8_t>(sum);
  Octets out{0x60, 0, 0, 0};
  put_16(out, static_cast<unsigned>(body.size()));
  out.insert(out.end(), {icmp, hops});
  put(out, addresses.data(), addresses.size());
  put(out, body.data(), body.size());
  frame_in(d, type_ip6, out.data(), out.size());
}

}  // namespace

void packet_to(lockstep_device* d, const void* packet, std::size_t length) {
  std::uint8_t const first = length == 0 ? 0 : *static_cast<const std::uint8_t*>(packet);
  frame_in(d, first >> 4 == 6 ? type_ip6 : type_ip4, packet, length);
  settle(d);
}

std::string make(lockstep_device* d, const lockstep_device_setup& setup) {
  if (!read_address(d->local, setup.local) || !read_address(d->remote, setup.remote)) {
    return "expected two IP addresses";
  }
  d->six = d->local.any.sa_family == AF_INET6;
  d->name_bytes = d->six ? sizeof d->local.v6 : sizeof d->local.v4;
  if (std::string fault = fault_of_options(setup.options); !fault.empty()) {
    return fault;
  }
  if (setup.mtu > mtu_max) {
    return "unsupported: an MTU of at most " + std::to_string(mtu_max);
  }
  if (int const error = enter_namespace(); error != 0) {
    return "unsupported: this machine allows no network namespace of its own: " +
           std::string(std::strerror(error));
  }
  std::signal(SIGPIPE, SIG_IGN);
  d->start_ns = d->now_ns = setup.start;
  d->callbacks.send_packet = on_packet;
  d->callbacks.guest_error = on_guest_error;
  d->callbacks.clock_get_ns = on_clock;
  d->callbacks.timer_new = on_timer_new;
  d->callbacks.timer_free = on_timer_free;
  d->callbacks.timer_mod = on_timer_mod;
  d->callbacks.register_poll_fd = on_descriptor;
  d->callbacks.unregister_poll_fd = on_descriptor_gone;
  d->callbacks.notify = on_notify;
  SlirpConfig const config = config_of(d, setup.mtu);
  d->slirp = slirp_new(&config, &d->callbacks, d);
  if (d->slirp == nullptr) {
    return "libslirp refuses this network";
  }
  settle(d);
  d->six ? announce_6(d) : announce_4(d);
  settle(d);
  d->sent.clear();
  return "";
}

}  // namespace lockstep::conformance::libslirp
