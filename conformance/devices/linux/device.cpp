// Linux as a device: its kernel as a program, in virtual time, without root.
//
// A program on Linux writes before the connection is established by waiting for it; so does this
// one: what it writes then is queued, and given to the kernel as soon as that takes it.
#include "conformance/devices/device.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "conformance/devices/linux/guest.hpp"
#include "tools/base/text/units.hpp"

namespace {

using lockstep::conformance::guest::Call;
using lockstep::conformance::guest::Guest;
using lockstep::conformance::guest::Result;

constexpr std::int64_t unsupported = LOCKSTEP_DEVICE_UNSUPPORTED;
constexpr std::int64_t refused = LOCKSTEP_DEVICE_REFUSED;
constexpr std::int64_t again = LOCKSTEP_DEVICE_AGAIN;
constexpr std::int64_t gone = LOCKSTEP_DEVICE_GONE;

/// The sysctl tcp_rto_min_us is newer than 6.1: there the route says it.
#ifdef LOCKSTEP_LINUX_6_1_DEVICE
constexpr const char* device_name = "linux-6.1";
constexpr std::uint32_t route_rto_min_ms = 1'000;
#else
constexpr const char* device_name = "linux";
constexpr std::uint32_t route_rto_min_ms = 0;
#endif

constexpr int so_peername = 28;
/// The largest read of the guest, and the largest write that fits a message.
constexpr std::size_t piece_bytes = 60'000;

using Options = std::map<std::string, std::string, std::less<>>;

/// For the profile rfc, as far as a kernel has it: no extensions, Reno, no limit on challenge ACKs.
/// RFC 5681's initial window of four segments is set on the route.
constexpr std::array<std::array<const char*, 2>, 16> plain_sysctls{
    {{"tcp_sack", "0"},
     {"tcp_timestamps", "0"},
     {"tcp_window_scaling", "0"},
     {"tcp_ecn", "0"},
     {"tcp_frto", "0"},
     {"tcp_early_retrans", "0"},
     {"tcp_no_metrics_save", "1"},
     {"tcp_congestion_control", "reno"},
     {"tcp_recovery", "0"},
     {"tcp_syn_linear_timeouts", "0"},
     {"tcp_invalid_ratelimit", "0"},
     {"tcp_syncookies", "0"},
     {"tcp_challenge_ack_limit", "1000000000"},
     {"tcp_rto_min_us", "1000000"},
     {"tcp_rmem", "4096 131072 131072"},
     {"tcp_wmem", "4096 1048576 1048576"}}};

/// Fields of Config that are sysctls, below /proc/sys/net.
constexpr std::array<std::array<const char*, 2>, 8> field_sysctls{
    {{"sack", "ipv4/tcp_sack"},
     {"dsack", "ipv4/tcp_dsack"},
     {"timestamps", "ipv4/tcp_timestamps"},
     {"window_scale", "ipv4/tcp_window_scaling"},
     {"ttl", "ipv4/ip_default_ttl"},
     {"ttl", "ipv6/conf/all/hop_limit"},
     {"ttl", "ipv6/conf/ls0/hop_limit"},
     {"time_wait_ignores_reset", "ipv4/tcp_rfc1337"}}};

struct SocketOption {
  const char* field;
  int level;
  int name;
};
/// Fields of Config that are socket options, with the kernel's unit.
constexpr std::array<SocketOption, 5> field_options{
    {{"mss", IPPROTO_TCP, TCP_MAXSEG},
     {"keepalive", SOL_SOCKET, SO_KEEPALIVE},
     {"keepalive_idle", IPPROTO_TCP, TCP_KEEPIDLE},
     {"keepalive_interval", IPPROTO_TCP, TCP_KEEPINTVL},
     {"keepalive_probes", IPPROTO_TCP, TCP_KEEPCNT}}};

/// Fields of Config that ask for what this kernel always does: it keeps each connection that a peer
/// opens in a small record, as our SYN cache does, until the handshake is complete.
constexpr std::array<std::string_view, 2> field_habits{"syn_cache_max", "syn_cache_after_percent"};

/// The states of /proc/net/tcp, by their numbers.
constexpr std::array<const char*, 13> states{
    "",       "ESTABLISHED", "SYN-SENT", "SYN-RECEIVED", "FIN-WAIT-1", "FIN-WAIT-2",  "TIME-WAIT",
    "CLOSED", "CLOSE-WAIT",  "LAST-ACK", "LISTEN",       "CLOSING",    "SYN-RECEIVED"};
constexpr std::uint8_t state_syn_sent = 2, state_closed = 7;

bool waits(std::int64_t result) { return result == -EAGAIN || result == -EINPROGRESS; }

/// A setting as the kernel takes it: a truth value, a number, or a time in seconds.
std::int64_t number_of(const std::string& text) {
  if (text == "true" || text == "false") {
    return text == "true" ? 1 : 0;
  }
  std::int64_t out = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, out).ptr == end) {
    return out;
  }
  auto const time = lockstep::tools::parse_duration(text);
  if (!time) {
    throw std::invalid_argument("expected a number or a duration, found " + text);
  }
  return static_cast<std::int64_t>(time->ns / 1'000'000'000);
}

Options options_of(std::string_view lines) {
  Options out;
  while (!lines.empty()) {
    std::string_view const line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    std::size_t const sign = line.find('=');
    if (sign == std::string_view::npos) {
      throw std::invalid_argument("expected name=value, found " + std::string(line));
    }
    out.emplace(line.substr(0, sign), line.substr(sign + 1));
  }
  return out;
}

/// Why a field cannot be set; empty: it can.
std::string fault_of(const Options& options) {
  for (auto const& [field, value] : options) {
    const auto is_field = [&field](const auto& row) { return row[0] == field; };
    const auto is_option = [&field](const SocketOption& row) { return row.field == field; };
    bool const known = field == "path_mtu_discovery" || field == "profile" ||
                       field == "tcp_congestion_control" || field == "tcp_ecn" ||
                       std::ranges::any_of(field_sysctls, is_field) ||
                       std::ranges::any_of(field_options, is_option) ||
                       std::ranges::find(field_habits, field) != field_habits.end();
    if (!known) {
      return "unsupported: no way to set " + field;
    }
  }
  auto const profile = options.find("profile");
  bool const usable = profile == options.end() || profile->second == "rfc" ||
                      profile->second == "default" || profile->second == "linux";
  return usable ? "" : "unsupported: no way to set profile to " + profile->second;
}

/// The path of this library.
std::string library() {
  Dl_info about{};
  bool const known = dladdr(reinterpret_cast<const void*>(&library), &about) != 0;
  return known ? about.dli_fname : "";
}

struct Socket {
  std::int64_t guest = -1;  ///< the guest's descriptor
  std::uint16_t local_port = 0, remote_port = 0;
  std::string unwritten;  ///< what was written before the connection
  bool open = false;
  std::int64_t error = 0;  ///< that a call returned, and that was not asked for since
};

/// Notes an error of the connection, and returns what the device's call returns.
std::int64_t failed(Socket& socket, std::int64_t result) {
  if (waits(result)) {
    return again;
  }
  socket.error = -result;
  return gone;
}

}  // namespace

/// One kernel, with one interface and an IPv4 or IPv6 address.
struct lockstep_device {
  lockstep_device(const lockstep_device_setup& setup, Options given)
      : six(std::strchr(setup.local, ':') != nullptr),
        local(setup.local),
        remote(setup.remote),
        options(std::move(given)),
        guest(lockstep::conformance::guest::program(library()), setup.seed) {
    bool const plain = options["profile"].empty() || options["profile"] == "rfc";
    configure(guest, {local, remote, setup.mtu, plain ? 4U : 0U, plain ? route_rto_min_ms : 0U});
    if (plain) {
      for (auto const& [name, value] : plain_sysctls) {
        guest.sysctl(std::string("net/ipv4/") + name, value);
      }
    }
    for (auto const& [field, name] : field_sysctls) {
      auto const wanted = options.find(field);
      if (wanted != options.end()) {
        guest.sysctl(std::string("net/") + name, std::to_string(number_of(wanted->second)));
      }
    }
    choose_congestion();
    choose_ecn();
    // In the first second after its start the kernel takes no timestamp for recent: its stamp of
    // when that was is 0, which means never (tcp_timewait_state_process()).
    for (std::uint64_t const then = guest.now() + 2'000'000'000; guest.now() < then;) {
      guest.run(then);
      guest.sent.clear();
    }
    guest.sent.clear();
    shift = setup.start - guest.now();
  }

  /// By the kernel's name, which is Config's where both have it. Throws if it has none of this
  /// name.
  void choose_congestion() {
    auto const wanted = options.find("tcp_congestion_control");
    if (wanted != options.end() &&
        guest.sysctl("net/ipv4/tcp_congestion_control", wanted->second) < 0) {
      throw std::invalid_argument("unsupported: this kernel has no congestion control " +
                                  wanted->second);
    }
  }
  void choose_ecn() {
    auto const wanted = options.find("tcp_ecn");
    if (wanted == options.end()) {
      return;
    }
    constexpr std::array<std::string_view, 3> policies{"off", "on", "accept"};  // as tcp_ecn
    auto const at = std::ranges::find(policies, wanted->second);
    if (at == policies.end()) {
      throw std::invalid_argument("tcp_ecn is " + wanted->second + ", expected off, accept or on");
    }
    guest.sysctl("net/ipv4/tcp_ecn", std::to_string(at - policies.begin()));
  }

  Socket* find(std::int64_t handle) {
    auto const at = static_cast<std::size_t>(handle - 1);
    bool const open = handle >= 1 && at < sockets.size() && sockets[at].open;
    return open ? &sockets[at] : nullptr;
  }
  std::int64_t keep(std::int64_t made, std::uint16_t local_port, std::uint16_t remote_port) {
    sockets.push_back({made, local_port, remote_port, {}, true});
    return static_cast<std::int64_t>(sockets.size());
  }
  std::int64_t option(std::int64_t made, int level, int name, std::string_view octets) {
    return guest.call(Call::set, {made, level, name}, octets).value;
  }
  std::int64_t option(std::int64_t made, int level, int name, std::int64_t value) {
    auto const word = static_cast<std::int32_t>(value);
    return option(made, level, name,
                  std::string_view(reinterpret_cast<const char*>(&word), sizeof word));
  }
  /// A sockaddr.
  std::string name_of(const std::string& address, std::uint16_t port) const {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    v4.sin_port = v6.sin6_port = htons(port);
    inet_pton(AF_INET, address.c_str(), &v4.sin_addr);
    inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr);
    return six ? std::string(reinterpret_cast<const char*>(&v6), sizeof v6)
               : std::string(reinterpret_cast<const char*>(&v4), sizeof v4);
  }
  /// A socket with the settings of the test on a port; below 0: it is refused.
  std::int64_t bound(std::uint16_t port) {
    std::int64_t const made =
        guest.call(Call::socket, {six ? AF_INET6 : AF_INET, SOCK_STREAM, 0}).value;
    option(made, SOL_SOCKET, SO_REUSEADDR, 1);
    option(made, SOL_SOCKET, SO_OOBINLINE, 1);
    auto const discovery = options.find("path_mtu_discovery");
    bool const discovers = discovery != options.end() && discovery->second == "true";
    option(made, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
           discovers ? IP_PMTUDISC_WANT : IP_PMTUDISC_DONT);
    for (SocketOption const& each : field_options) {
      auto const wanted = options.find(each.field);
      if (wanted != options.end()) {
        option(made, each.level, each.name, number_of(wanted->second));
      }
    }
    if (guest.call(Call::bind, {made}, name_of(local, port)).value < 0) {
      guest.call(Call::close, {made});
      return refused;
    }
    return made;
  }
  /// The octets of TCP_INFO.
  std::string info(const Socket& socket) {
    constexpr std::size_t most = 256;
    Result out =
        guest.call(Call::get, {socket.guest, IPPROTO_TCP, TCP_INFO}, std::string(most, '\0'));
    out.octets.resize(most, '\0');
    return out.value == 0 ? out.octets : std::string(most, '\0');
  }
  /// Gives the kernel what it takes of what waits.
  void write_on() {
    for (Socket& each : sockets) {
      while (each.open && !each.unwritten.empty()) {
        std::int64_t const taken =
            guest.call(Call::send, {each.guest}, each.unwritten.substr(0, piece_bytes)).value;
        if (waits(taken)) {
          break;
        }
        each.unwritten.erase(0, taken > 0 ? static_cast<std::size_t>(taken) : std::string::npos);
      }
    }
  }

  bool six;
  std::string local, remote;
  Options options;
  Guest guest;
  std::uint64_t shift = 0;     ///< the device's time less the guest's
  std::deque<Socket> sockets;  ///< by handle - 1
  std::string told;
};

namespace {

lockstep_device* create(const lockstep_device_setup* setup, char* why, std::size_t room) {
  try {
    Options options = options_of(setup->options);
    std::string const fault = fault_of(options);
    if (!fault.empty()) {
      throw std::invalid_argument(fault);
    }
    return new lockstep_device(*setup, std::move(options));
  } catch (const std::exception& error) {
    std::snprintf(why, room, "%s", error.what());
    return nullptr;
  }
}
void destroy(lockstep_device* d) { delete d; }

void advance(lockstep_device* d, std::uint64_t now) {
  d->write_on();
  if (d->guest.sent.empty()) {
    d->guest.run(now - d->shift);
  }
  d->write_on();
}
std::uint64_t travel(lockstep_device* d, std::uint64_t until) {
  advance(d, until);
  return std::min(d->guest.now() + d->shift, until);
}
std::uint64_t deadline(lockstep_device* d) { return d->guest.next() + d->shift; }
void packet_in(lockstep_device* d, const void* packet, std::size_t length) {
  d->guest.packet({static_cast<const char*>(packet), length});
  d->write_on();
}
std::size_t packet_out(lockstep_device* d, void* packet, std::size_t room) {
  if (d->guest.sent.empty()) {
    return 0;
  }
  std::string const next = std::move(d->guest.sent.front());
  d->guest.sent.pop_front();
  std::memcpy(packet, next.data(), std::min(room, next.size()));
  return next.size();
}

std::int64_t listen(lockstep_device* d, std::uint16_t port, std::uint32_t backlog) {
  std::int64_t const made = d->bound(port);
  // The kernel lets one more wait than it is told.
  std::int64_t const told = backlog == 0 ? 0 : std::int64_t{backlog} - 1;
  if (made < 0 || d->guest.call(Call::listen, {made, told}).value < 0) {
    return refused;
  }
  return d->keep(made, port, 0);
}

std::int64_t accept(lockstep_device* d, std::int64_t handle) {
  Socket const* const listener = d->find(handle);
  if (listener == nullptr) {
    return gone;
  }
  std::uint16_t const port = listener->local_port;
  std::int64_t const made = d->guest.call(Call::accept, {listener->guest}).value;
  if (made < 0) {
    return again;
  }
  std::string const peer =
      d->guest.call(Call::get, {made, SOL_SOCKET, so_peername}, std::string(28, '\0')).octets;
  std::uint16_t remote = 0;
  if (peer.size() >= 4) {
    std::memcpy(&remote, peer.data() + 2, sizeof remote);
  }
  return d->keep(made, port, ntohs(remote));
}

std::int64_t connect(lockstep_device* d, std::uint16_t local_port, std::uint16_t remote_port) {
  std::int64_t const made = d->bound(local_port);
  if (made < 0) {
    return refused;
  }
  std::int64_t const result =
      d->guest.call(Call::connect, {made}, d->name_of(d->remote, remote_port)).value;
  return result != 0 && !waits(result) ? refused : d->keep(made, local_port, remote_port);
}

std::int64_t send(lockstep_device* d, std::int64_t handle, const void* data, std::size_t length) {
  Socket* const one = d->find(handle);
  if (one == nullptr) {
    return gone;
  }
  std::string_view left(static_cast<const char*>(data), length);
  std::size_t taken = 0;
  if (!one->unwritten.empty()) {
    one->unwritten += left;
    return static_cast<std::int64_t>(length);
  }
  std::int64_t result = 0;
  while (!left.empty()) {
    result = d->guest.call(Call::send, {one->guest}, left.substr(0, piece_bytes)).value;
    if (waits(result) && static_cast<std::uint8_t>(d->info(*one)[0]) == state_syn_sent) {
      one->unwritten = left;
      return static_cast<std::int64_t>(length);
    }
    if (result <= 0) {
      break;
    }
    taken += static_cast<std::size_t>(result);
    left.remove_prefix(static_cast<std::size_t>(result));
  }
  return taken != 0 ? static_cast<std::int64_t>(taken) : failed(*one, result);
}

std::int64_t receive(lockstep_device* d, std::int64_t handle, void* data, std::size_t room) {
  Socket* const one = d->find(handle);
  if (one == nullptr) {
    return gone;
  }
  std::size_t got = 0;
  Result last;
  while (got < room) {
    auto const most = static_cast<std::int64_t>(std::min(room - got, piece_bytes));
    last = d->guest.call(Call::receive, {one->guest, 0, most});
    if (last.value <= 0) {
      break;
    }
    std::memcpy(static_cast<char*>(data) + got, last.octets.data(), last.octets.size());
    got += last.octets.size();
  }
  if (got != 0) {
    return static_cast<std::int64_t>(got);
  }
  return last.value == 0 ? 0 : failed(*one, last.value);
}

std::int64_t finish(lockstep_device* d, std::int64_t handle) {
  Socket const* const one = d->find(handle);
  bool const done =
      one != nullptr && d->guest.call(Call::shutdown, {one->guest, SHUT_WR}).value == 0;
  return done ? 0 : gone;
}

std::int64_t close(lockstep_device* d, std::int64_t handle) {
  Socket* const one = d->find(handle);
  if (one == nullptr) {
    return gone;
  }
  one->open = false;
  d->guest.call(Call::close, {one->guest});
  return 0;
}

std::int64_t abort(lockstep_device* d, std::int64_t handle) {
  if (Socket const* const one = d->find(handle)) {
    linger const at_once{1, 0};
    d->option(one->guest, SOL_SOCKET, SO_LINGER,
              std::string_view(reinterpret_cast<const char*>(&at_once), sizeof at_once));
  }
  return close(d, handle);
}

std::int64_t set(lockstep_device* d, std::int64_t handle, const char* name, std::int64_t value) {
  std::string_view const which = name;
  int level = IPPROTO_TCP, option = 0;
  if (which == "nagle") {
    option = TCP_NODELAY;
    value = value == 0 ? 1 : 0;
  } else if (which == "user_timeout_ms") {
    option = TCP_USER_TIMEOUT;
  } else if (which == "keepalive") {
    level = SOL_SOCKET;
    option = SO_KEEPALIVE;
  } else {
    return unsupported;
  }
  Socket const* const one = d->find(handle);
  if (one == nullptr) {
    return gone;
  }
  return d->option(one->guest, level, option, value) == 0 ? 0 : refused;
}

/// The error of a connection, as a number of errno; it is then forgotten.
std::int64_t error_of(lockstep_device* d, Socket& socket) {
  if (socket.error != 0) {
    return std::exchange(socket.error, 0);
  }
  std::string const octets =
      d->guest.call(Call::get, {socket.guest, SOL_SOCKET, SO_ERROR}, std::string(4, '\0')).octets;
  std::int32_t out = 0;
  std::memcpy(&out, octets.data(), std::min(octets.size(), sizeof out));
  return out;
}

std::int64_t get(lockstep_device* d, std::int64_t handle, const char* name) {
  Socket* const one = d->find(handle);
  if (one == nullptr) {
    return gone;
  }
  if (std::string_view(name) == "error") {
    return error_of(d, *one);
  }
  // tcp_info of linux/tcp.h: eight octets, then words of 32 bits.
  constexpr std::uint8_t recovery = 3;
  constexpr std::size_t snd_wnd_at = 228;
  std::string const octets = d->info(*one);
  const auto word_at = [&octets](std::size_t at) {
    std::uint32_t out = 0;
    std::memcpy(&out, octets.data() + at, sizeof out);
    return static_cast<std::int64_t>(out);
  };
  const auto word = [&word_at](std::size_t number) { return word_at(8 + 4 * number); };
  std::int64_t const mss = word(2);
  std::string_view const which = name;
  return which == "cwnd"            ? word(18) * mss
         : which == "ssthresh"      ? std::min<std::int64_t>(word(17) * mss, 0xffff'ffff)
         : which == "sacked"        ? word(5) * mss
         : which == "fast_recovery" ? static_cast<std::uint8_t>(octets[1]) == recovery
         : which == "srtt_ns"       ? word(15) * 1'000
         : which == "rto_ns"        ? word(0) * 1'000
         : which == "snd_wnd"       ? word_at(snd_wnd_at)
                                    : unsupported;
}

/// The state of a connection that the program has; what else there is cannot be seen. A socket
/// whose connection is in TIME-WAIT looks as one that is closed.
const char* state(lockstep_device* d, std::uint16_t local_port, std::uint16_t remote_port) {
  for (Socket const& each : d->sockets) {
    if (each.open && each.local_port == local_port && each.remote_port == remote_port) {
      auto const number = static_cast<std::uint8_t>(d->info(each)[0]);
      return number == 0 || number == state_closed || number >= states.size() ? nullptr
                                                                              : states[number];
    }
  }
  return nullptr;
}

std::int64_t branch(lockstep_device* d, lockstep_device_branch stage) {
  if (stage == LOCKSTEP_BRANCH_BEFORE) {
    return d->guest.fork() ? 0 : refused;
  }
  d->guest.take(stage == LOCKSTEP_BRANCH_NEW);
  return 0;
}

/// The name of the kernel that is there, with its version.
const char* stack() {
  static const std::string title = [] {
    try {
      return lockstep::conformance::guest::title_of(
          lockstep::conformance::guest::program(library()));
    } catch (const std::exception&) {
      return std::string("Linux");  // none is there; create() says so
    }
  }();
  return title.c_str();
}

const lockstep_device_calls table{
    .version = LOCKSTEP_DEVICE_VERSION,
    .name = device_name,
    .stack = stack(),
    .abilities = "ipv4 ipv6 udp deterministic branches",
    .timer_grain = 1'000'000,
    // The timer wheel rounds up to an eighth (kernel/time/timer.c).
    .timer_late = 125,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .deadline = deadline,
    .packet_in = packet_in,
    .packet_out = packet_out,
    .listen = listen,
    .unlisten = close,
    .accept = accept,
    .connect = connect,
    .send = send,
    .receive = receive,
    .finish = finish,
    .close = close,
    .abort = abort,
    .urgent = nullptr,
    .set = set,
    .get = get,
    .state = state,
    .events = nullptr,
    .travel = travel,
    .branch = branch,
};

}  // namespace

extern "C" const lockstep_device_calls* lockstep_device_entry(void) { return &table; }
