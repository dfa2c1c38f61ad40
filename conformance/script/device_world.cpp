// A device under a script: another TCP, in a process of its own.
#include "conformance/script/device_world.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "conformance/script/device_calls.hpp"
#include "conformance/script/packet.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr std::uint32_t turns_max = 100'000;
constexpr std::uint64_t seed = 1;
constexpr std::uint16_t bit_syn = 0x02, bit_ack = 0x10;

/// The address that a packet goes to.
IpAddress destination_of(std::span<const std::byte> packet) {
  const auto word = [&](std::size_t at) {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      out = out << 8 | std::to_integer<std::uint64_t>(packet[at + i]);
    }
    return out;
  };
  bool const four = packet.size() >= 20 && std::to_integer<unsigned>(packet[0]) >> 4 == 4;
  if (four) {
    return IpAddress::from(Ipv4{static_cast<std::uint32_t>(word(16))});
  }
  return packet.size() < 40 ? IpAddress{}
                            : IpAddress{word(24) << 32 | word(28), word(32) << 32 | word(36)};
}

/// The address in a name.
IpAddress address_in(const sockaddr* name) {
  if (name->sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, name, sizeof four);
    return IpAddress::from(Ipv4{ntohl(four.sin_addr.s_addr)});
  }
  sockaddr_in6 six{};
  std::memcpy(&six, name, sizeof six);
  IpAddress out;
  for (std::size_t i = 0; i < 16; ++i) {
    auto& half = i < 8 ? out.high : out.low;
    half = half << 8 | six.sin6_addr.s6_addr[i];
  }
  return out;
}

}  // namespace

DeviceWorld::DeviceWorld(const Plan& plan, const std::filesystem::path& device)
    : peer_(device), config_(plan.config), local_(plan.local), remote_(plan.remote) {
  bool const four = plan.local.is_v4();
  if (plan.config.address_count.value != 1) {
    throw LeftOut("a device has one address");
  }
  if (!peer_.about().abilities.contains(four ? "ipv4" : "ipv6")) {
    throw LeftOut(fmt::format("the device has no {}", four ? "IPv4" : "IPv6"));
  }
  create(plan);
  calls_ = std::make_unique<DeviceCalls>(*this, four ? AF_INET : AF_INET6);
}

DeviceWorld::~DeviceWorld() = default;

void DeviceWorld::reconfigure(const Config&) {
  throw LeftOut("the settings of a device cannot be changed while it runs");
}

void DeviceWorld::create(const Plan& plan) {
  std::string lines = fmt::format("local={}\nremote={}\nmtu={}\nseed={}\nstart={}\nprofile={}\n",
                                  tools::text_of(local_), tools::text_of(remote_),
                                  plan.config.mtu.count, seed, origin.ns, plan.profile);
  for (std::string const& line : plan.changed) {
    lines += line + "\n";
  }
  DeviceAnswer const answer = peer_.ask(LOCKSTEP_CALL_CREATE, 0, 0, lines);
  if (answer.result == LOCKSTEP_DEVICE_UNSUPPORTED) {
    throw LeftOut(answer.octets);
  }
  if (answer.result < 0) {
    throw DeviceFault(fmt::format("device {}: create: {}", peer_.about().name, answer.octets));
  }
}

Duration DeviceWorld::tolerance(Duration passed) const {
  DeviceAbout const& about = peer_.about();
  std::uint64_t const grain = about.timer_grain == 1 ? 0 : about.timer_grain;
  return Duration{grain + passed.ns / 1'000 * about.timer_late};
}

DeviceAnswer DeviceWorld::ask(lockstep_device_call call, std::uint64_t first, std::uint64_t second,
                              std::string_view octets) {
  DeviceAnswer answer = peer_.ask(call, first, second, octets);
  if (answer.result == LOCKSTEP_DEVICE_UNSUPPORTED) {
    throw LeftOut(fmt::format("the device has no call {}{}{}", name_of(call),
                              call == LOCKSTEP_CALL_SET ? " " : "",
                              call == LOCKSTEP_CALL_SET ? octets : ""));
  }
  return answer;
}

/// Keeps what was sent to the tester. False: nothing was sent.
bool DeviceWorld::take(const DeviceAnswer& answer) {
  now_ = later(now_, Instant{answer.now});
  for (auto const& packet : answer.packets) {
    if (destination_of(packet) == remote_) {
      sent.push_back({now_, packet});
    }
  }
  return !answer.packets.empty();
}

bool DeviceWorld::settle() {
  for (std::uint32_t i = 0; i < turns_max; ++i) {
    if (!take(peer_.ask(LOCKSTEP_CALL_ADVANCE, now_.ns))) {
      return true;
    }
  }
  return false;
}

bool DeviceWorld::advance(Instant until) {
  return until > now_ && take(peer_.ask(LOCKSTEP_CALL_ADVANCE, until.ns));
}

void DeviceWorld::go_to(Instant at) {
  if (at > now_) {
    take(peer_.ask(LOCKSTEP_CALL_ADVANCE, at.ns));
  }
}

void DeviceWorld::inject(std::vector<std::byte> packet) {
  Live const live = read_live(packet);
  if (live.readable && !live.is_icmp && (live.flags & (bit_syn | bit_ack)) == bit_syn) {
    callers_.push_back({live.destination.port, live.source.port});
  }
  std::string_view const octets(reinterpret_cast<const char*>(packet.data()), packet.size());
  take(peer_.ask(LOCKSTEP_CALL_PACKET, 0, 0, octets));
}

SocketCalls& DeviceWorld::calls() { return *calls_; }

bool DeviceWorld::can(std::string_view call) const { return peer_.about().calls.contains(call); }

std::int64_t DeviceWorld::try_get(std::uint64_t connection, std::string_view name) {
  return peer_.ask(LOCKSTEP_CALL_GET, connection, 0, name).result;
}

void DeviceWorld::try_set(std::uint64_t connection, std::string_view name, std::int64_t value) {
  peer_.ask(LOCKSTEP_CALL_SET, connection, static_cast<std::uint64_t>(value), name);
}

std::optional<tcp::State> DeviceWorld::state_between(Port local, Port remote) {
  if (!can("state")) {
    return std::nullopt;
  }
  DeviceAnswer const answer = peer_.ask(LOCKSTEP_CALL_STATE, local.value, remote.value);
  for (std::uint32_t i = 0; i < tcp::state_count; ++i) {
    auto const state = static_cast<tcp::State>(i);
    if (tcp::name_of(state) == answer.octets && answer.result >= 0) {
      return state;
    }
  }
  return std::nullopt;
}

std::optional<tcp::State> DeviceWorld::state_of(const Endpoint& local, const Endpoint& remote) {
  return state_between(local.port, remote.port);
}

Port DeviceWorld::next_caller(Port local) {
  auto const found = std::ranges::find(callers_, local, &Caller::local);
  if (found == callers_.end()) {
    return Port{0};
  }
  Port const out = found->remote;
  callers_.erase(found);
  return out;
}

bool DeviceWorld::is_local(const sockaddr* name) const {
  return address_in(name) == local_ || address_in(name) == IpAddress{} ||
         address_in(name) == IpAddress::v4(0, 0, 0, 0);
}

bool DeviceWorld::is_remote(const sockaddr* name) const { return address_in(name) == remote_; }

void DeviceWorld::put_name(bool own, Port port, sockaddr* name, socklen_t* length) const {
  IpAddress const& address = own ? local_ : remote_;
  std::string const text = tools::text_of(address);
  sockaddr_in four{};
  sockaddr_in6 six{};
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  four.sin_port = six.sin6_port = htons(port.value);
  bool const v4 = address.is_v4();
  inet_pton(v4 ? AF_INET : AF_INET6, text.c_str(),
            v4 ? static_cast<void*>(&four.sin_addr) : &six.sin6_addr);
  auto const size = static_cast<socklen_t>(v4 ? sizeof four : sizeof six);
  if (name != nullptr && length != nullptr) {
    std::memcpy(name, v4 ? static_cast<const void*>(&four) : &six, std::min(*length, size));
    *length = size;
  }
}

}  // namespace lockstep::conformance::script
