// Gives out addresses of the same class: a loopback address for a loopback address, and so on.
#include "tools/verbs/anonymise/aliases.hpp"

#include <algorithm>
#include <utility>

#include "tools/base/capture/octets.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/anonymise/secret.hpp"

namespace lockstep::tools {
namespace {

/// Hosts and addresses that are told apart.
constexpr std::size_t hosts_max = std::size_t{1} << 20;
constexpr std::size_t macs_max = std::size_t{1} << 16;

/// The secrets for numbers of hosts; StreamMask and options have others.
enum class Purpose : std::uint64_t { ports = 1, numbers, stamps };

/// `count` addresses from `first` on.
struct Range {
  std::uint32_t first, count;
};

constexpr Range documentation_1{0xc000'0201, 254};        // 192.0.2.0/24
constexpr Range documentation_2{0xc633'6401, 254};        // 198.51.100.0/24
constexpr Range documentation_3{0xcb00'7101, 254};        // 203.0.113.0/24
constexpr Range benchmarks{0xc612'0001, 0x1'fffe};        // 198.18.0.0/15
constexpr Range private_network{0x0a00'0001, 0xff'fffe};  // 10.0.0.0/8, if those do not suffice
constexpr Range test_groups{0xe9fc'0000, 256};            // 233.252.0.0/24

/// The address at `index` of several ranges; the last one is used over again when it ends.
template <std::size_t n>
Ipv4 at_index(const std::array<Range, n>& ranges, std::uint32_t index) {
  for (const Range& range : ranges) {
    if (index < range.count) {
      return {range.first + index};
    }
    index -= range.count;
  }
  return {ranges.back().first + index % ranges.back().count};
}

enum class Class : std::uint8_t { host, loopback, group, link_local, zero_network, reserved };

Class class_of(Ipv4 address) {
  constexpr std::uint32_t automatic = 0xa9fe;  // 169.254.0.0/16
  if (address.is_loopback()) {
    return Class::loopback;
  }
  if (address.is_multicast()) {
    return Class::group;
  }
  if (address.is_reserved()) {
    return address.value >> 24 == 0 ? Class::zero_network : Class::reserved;
  }
  return address.value >> 16 == automatic ? Class::link_local : Class::host;
}

}  // namespace

void Hosts::take(const Segment& segment) {
  IpAddress const& source = segment.source.address;
  if (!all_.contains(source) && all_.size() == hosts_max) {
    return;  // Aliases refuses so many
  }
  Facts& facts = all_[source];
  bool const begins = segment.sequence == 0 || segment.end() == 0;
  facts.zero_number = facts.zero_number || (begins && !segment.any(tcp_flag::rst));
  for (const TcpOption& option : options_of(segment)) {
    constexpr std::uint8_t timestamps = 8;
    if (option.kind == timestamps && option.data.size() == 8) {
      std::uint32_t const stamp = long_at(option.data, 0);
      facts.zero_stamp = facts.zero_stamp || stamp == 0;
      facts.first_stamp = facts.first_stamp ? facts.first_stamp : stamp;
    }
  }
}

Hosts::Facts Hosts::of(const IpAddress& host) const {
  auto const found = all_.find(host);
  return found == all_.end() ? Facts{} : found->second;
}

Aliases::Aliases(const HashKey& secret, Hosts hosts, bool keep_numbers)
    : secret_(secret),
      hosts_(std::move(hosts)),
      keep_numbers_(keep_numbers),
      ports_(std::make_unique<std::array<std::uint16_t, 65'536>>()) {
  auto& ports = *ports_;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ports[i] = static_cast<std::uint16_t>(i);
  }
  HashKey const key = derived(secret, static_cast<std::uint64_t>(Purpose::ports));
  constexpr std::size_t services_end = 1'024;
  for (auto const& [first, end] :
       {std::pair{std::size_t{1}, services_end}, std::pair{services_end, ports.size()}}) {
    for (std::size_t i = end - 1; i > first; --i) {
      std::uint64_t const drawn = SecretHash(key).add(i).finish();
      std::swap(ports[i], ports[first + drawn % (i - first + 1)]);
    }
  }
}

void Aliases::begin() {
  addresses_.clear();
  macs_.clear();
  used_v4_ = {};
  used_v6_ = {};
  v4_ = v6_ = 0;
}

IpAddress Aliases::next_v4(Ipv4 address) {
  Class const kind = class_of(address);
  std::uint32_t const index = used_v4_[static_cast<std::size_t>(kind)]++;
  switch (kind) {
    case Class::loopback:
      return IpAddress::from({0x7f00'0001 + index % 0xff'fffe});
    case Class::group:
      return IpAddress::from(at_index(std::array{test_groups}, index));
    case Class::link_local:
      return IpAddress::from({0xa9fe'0100 + index % 0xfe00});
    case Class::zero_network:
      return IpAddress::from({1 + index % 0xff'ffff});
    case Class::reserved:
      return IpAddress::from({0xf000'0000 + index % 0xfff'ffff});
    case Class::host:
      break;
  }
  return IpAddress::from(at_index(
      std::array{documentation_1, documentation_2, documentation_3, benchmarks, private_network},
      index));
}

IpAddress Aliases::next_v6(const IpAddress& address) {
  if (address.is_multicast()) {
    // Flags and scope stay; RFC 6676 has no range for groups of every scope.
    return {(address.high & 0xffff'0000'0000'0000) | 0x0db8, ++used_v6_[0]};
  }
  if (address.is_link_local()) {
    return {0xfe80'0000'0000'0000, ++used_v6_[1]};
  }
  return {0x2001'0db8'0000'0000, ++used_v6_[2]};
}

IpAddress Aliases::of(const IpAddress& address) {
  bool const v4 = address.is_v4();
  bool const everyone = v4 && address.as_v4().is_limited_broadcast();
  constexpr IpAddress loopback_v6{0, 1};
  if (address.is_unspecified() || everyone || address == loopback_v6) {
    return address;
  }
  auto const found = addresses_.find(address);
  if (found != addresses_.end()) {
    return found->second;
  }
  if (addresses_.size() == hosts_max) {
    throw Failure(ExitCode::bad_input,
                  "the capture has more than 1048576 addresses; expected fewer: keep one "
                  "connection with --connection");
  }
  ++(v4 ? v4_ : v6_);
  IpAddress const alias = v4 ? next_v4(address.as_v4()) : next_v6(address);
  addresses_.emplace(address, alias);
  return alias;
}

Mac Aliases::of(const Mac& mac) {
  if (mac == Mac::broadcast() || mac == Mac{}) {
    return mac;
  }
  auto const found = macs_.find(mac);
  if (found != macs_.end()) {
    return found->second;
  }
  std::size_t const index = std::min(macs_.size(), macs_max) + 1;
  Mac const alias{{static_cast<std::uint8_t>(mac.is_group() ? 3 : 2), 0, 0,
                   static_cast<std::uint8_t>(index >> 16 & 0xff),
                   static_cast<std::uint8_t>(index >> 8 & 0xff),
                   static_cast<std::uint8_t>(index & 0xff)}};
  if (macs_.size() < macs_max) {
    macs_.emplace(mac, alias);
  }
  return alias;
}

namespace {

std::uint32_t drawn_for(const HashKey& secret, Purpose purpose, const IpAddress& host) {
  SecretHash hash(derived(secret, static_cast<std::uint64_t>(purpose)));
  return static_cast<std::uint32_t>(hash.add(host.high).add(host.low).finish());
}

}  // namespace

std::uint32_t Aliases::number_shift(const IpAddress& host) const {
  bool const kept = keep_numbers_ || hosts_.of(host).zero_number;
  return kept ? 0 : drawn_for(secret_, Purpose::numbers, host);
}

/// The first timestamp becomes one from which no clock comes to 0 again.
std::uint32_t Aliases::stamp_shift(const IpAddress& host) const {
  Hosts::Facts const facts = hosts_.of(host);
  if (keep_numbers_ || facts.zero_stamp) {
    return 0;
  }
  constexpr std::uint32_t least = 1u << 28;
  std::uint32_t const first = least + drawn_for(secret_, Purpose::stamps, host) % least;
  // A host of which no segment was captured: others echo its clock.
  return first - facts.first_stamp.value_or(0);
}

}  // namespace lockstep::tools
