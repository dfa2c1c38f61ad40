// The kernel of Linux under a script: its own calls and sysctls, in virtual time.
#include "conformance/script/linux_world.hpp"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "conformance/devices/peer.hpp"
#include "conformance/script/linux_calls.hpp"
#include "conformance/script/packet.hpp"
#include "conformance/script/sysctl.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr std::uint32_t kernel_turns_max = 100'000;
constexpr std::uint64_t kernel_seed = 1;
/// In its first second the kernel takes no timestamp for recent.
constexpr std::uint64_t warm_up_ns = 2'000'000'000;

/// What a machine of common size has: the kernel here has little memory, and takes its limits from
/// that (tcp(7): tcp_rmem, tcp_wmem).
constexpr std::array<std::array<const char*, 2>, 2> buffers{
    {{"net/ipv4/tcp_rmem", "4096 131072 6291456"}, {"net/ipv4/tcp_wmem", "4096 16384 4194304"}}};

/// The route's initial window before the first event; 0: the kernel's own.
std::uint32_t first_window_of(const Plan& plan) {
  std::uint32_t out = 0;
  for (Assignment const& one : plan.raw) {
    out = one.name == "route.initcwnd" ? static_cast<std::uint32_t>(std::stoul("0" + one.value))
                                       : out;
  }
  return out;
}

/// net.ipv4.tcp_sack is net/ipv4/tcp_sack; the interface of scripts is this one's.
std::string path_of(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  std::size_t const at = name.find("/tun0/");
  if (at != std::string::npos) {
    name.replace(at + 1, 4, guest::interface_name);
  }
  return name;
}

}  // namespace

LinuxWorld::LinuxWorld(const Plan& plan, const std::string& library)
    : config_(plan.config), calls_(std::make_unique<LinuxCalls>(*this)) {
  if (!plan.fields.empty()) {
    throw LeftOut("the kernel has no field " + plan.fields.front());
  }
  try {
    guest_ = std::make_unique<guest::Guest>(guest::program(library), kernel_seed);
    guest::configure(*guest_, {tools::text_of(plan.local), tools::text_of(plan.remote),
                               plan.config.mtu.count, first_window_of(plan)});
    for (auto const& [name, value] : buffers) {
      guest_->sysctl(name, value);
    }
    for (Assignment const& one : plan.raw) {
      set(one);
    }
    for (std::uint64_t const then = guest_->now() + warm_up_ns; guest_->now() < then;) {
      guest_->run(then);
      guest_->sent.clear();
    }
  } catch (const guest::Ended& ended) {
    throw DeviceFault(fmt::format("device linux: {}", ended.what()));
  } catch (const std::invalid_argument& missing) {
    throw LeftOut(missing.what());
  }
  shift_ = origin.ns - guest_->now();
}

LinuxWorld::~LinuxWorld() = default;

SocketCalls& LinuxWorld::calls() { return *calls_; }

Duration LinuxWorld::tolerance(Duration passed) const {
  // The timer wheel rounds up, to an eighth of a timer's duration at most (conformance/devices/
  // linux/README.md).
  constexpr std::uint64_t tick_ns = 1'000'000;
  return Duration{tick_ns + passed.ns / 8};
}

guest::Result LinuxWorld::ask(guest::Call which, std::initializer_list<std::int64_t> numbers,
                              std::string_view octets) {
  try {
    return guest_->call(which, numbers, octets);
  } catch (const guest::Ended& ended) {
    throw DeviceFault(fmt::format("device linux: {}", ended.what()));
  }
}

/// Keeps what was sent. False: nothing was.
bool LinuxWorld::take() {
  bool const some = !guest_->sent.empty();
  now_ = later(now_, Instant{guest_->now() + shift_});
  for (std::string const& packet : guest_->sent) {
    auto const* const octets = reinterpret_cast<const std::byte*>(packet.data());
    sent.push_back({now_, {octets, octets + packet.size()}});
    Live const live = read_live(sent.back().bytes);
    if (live.readable && !live.is_icmp && (live.flags & 0x12) == 0x02) {
      calls_->opened(live.source.port);
    }
    bool const chatter = live.is_icmp && (live.icmp.type == 133 || live.icmp.type == 143);
    if (chatter) {  // router solicitations and multicast reports
      sent.pop_back();
    }
  }
  guest_->sent.clear();
  return some;
}

bool LinuxWorld::settle() {
  try {
    for (std::uint32_t i = 0; i < kernel_turns_max; ++i) {
      guest_->run(now_.ns - shift_);
      if (!take()) {
        return true;
      }
    }
  } catch (const guest::Ended& ended) {
    throw DeviceFault(fmt::format("device linux: {}", ended.what()));
  }
  return false;
}

bool LinuxWorld::advance(Instant until) {
  if (until <= now_) {
    return false;
  }
  // "Never" is too far: the kernel always has something to do.
  constexpr std::uint64_t far_ns = 7'200'000'000'000;
  std::uint64_t const to = until == Instant::never() ? now_.ns + far_ns : until.ns;
  try {
    guest_->run(to - shift_);
  } catch (const guest::Ended& ended) {
    throw DeviceFault(fmt::format("device linux: {}", ended.what()));
  }
  return take();
}

void LinuxWorld::go_to(Instant at) { advance(at); }

void LinuxWorld::inject(std::vector<std::byte> packet) {
  try {
    guest_->packet({reinterpret_cast<const char*>(packet.data()), packet.size()});
  } catch (const guest::Ended& ended) {
    throw DeviceFault(fmt::format("device linux: {}", ended.what()));
  }
  take();
}

std::optional<lockstep_tcp_info> LinuxWorld::info_of(int fd) {
  lockstep_tcp_info out{};
  socklen_t length = sizeof out;
  bool const known = fd >= 0 && calls_->getsockopt(fd, IPPROTO_TCP, TCP_INFO, &out, &length) == 0;
  return known ? std::optional(out) : std::nullopt;
}

/// Of a connection that the program has; what else there is cannot be seen.
std::optional<tcp::State> LinuxWorld::state_of(const Endpoint& local, const Endpoint& remote) {
  using tcp::State;
  static constexpr std::array<State, 13> numbers{
      State::closed,       State::established, State::syn_sent,  State::syn_received,
      State::fin_wait_1,   State::fin_wait_2,  State::time_wait, State::closed,
      State::close_wait,   State::last_ack,    State::listen,    State::closing,
      State::syn_received,
  };
  auto const info = info_of(calls_->find(local.port, remote.port));
  bool const known = info && info->tcpi_state < numbers.size();
  return known ? std::optional(numbers[info->tcpi_state]) : std::nullopt;
}

void LinuxWorld::set(const Assignment& one) {
  if (one.name == "route.initcwnd" || one.name == "route.mtu") {
    return;  // part of configure()
  }
  bool const foreign = one.name.starts_with("net.inet") || one.name.starts_with("kern.");
  if (foreign || one.name.starts_with("route.")) {
    throw LeftOut(fmt::format("the kernel has no setting {}", one.name));
  }
  std::int64_t const done = guest_->sysctl(path_of(one.name), one.value);
  if (done < 0 && !(done == -ENOENT && is_neutral(one.name, one.value))) {
    throw LeftOut(fmt::format("the kernel refuses {}={}: {}", one.name, one.value,
                              std::strerror(static_cast<int>(-done))));
  }
}

bool LinuxWorld::take_settings(const std::vector<Assignment>& settings) {
  for (Assignment const& one : settings) {
    if (one.name.starts_with("route.")) {
      throw LeftOut("a route is not changed while a script runs");
    }
    set(one);
  }
  return true;
}

}  // namespace lockstep::conformance::script
