// Uses netlink for addresses, ethtool for offloads, and the TUN device for the rest.
#include "hw/tap/before.hpp"

#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hw/netlink.hpp"
#include "hw/tap/request.hpp"

namespace lockstep::hw {
namespace {

// A socket for ioctl.
Descriptor control_socket() { return Descriptor(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

NetlinkQuestion address_question(std::uint16_t type, int index, const HostAddress& address) {
  ifaddrmsg head{};
  head.ifa_family = address.address.is_v4() ? AF_INET : AF_INET6;
  head.ifa_prefixlen = address.prefix_bits;
  head.ifa_index = static_cast<std::uint32_t>(index);
  NetlinkQuestion out = question_of(type, head);
  std::vector<std::byte> const octets = network_octets(address.address);
  put_attribute(out.body, IFA_LOCAL, octets);
  put_attribute(out.body, IFA_ADDRESS, octets);
  return out;
}

ifaddrmsg head_of(std::span<const std::byte> body) {
  ifaddrmsg head{};
  std::memcpy(&head, body.data(), sizeof head);
  return head;
}

// All addresses of one interface.
std::vector<std::vector<std::byte>> addresses_of(int index) {
  std::vector<std::vector<std::byte>> out;
  NetlinkQuestion question = question_of(RTM_GETADDR, ifaddrmsg{});
  question.all = true;
  Netlink(NETLINK_ROUTE)
      .ask(question, [&](std::span<const std::byte> header, const NetlinkAttributes& attributes) {
        if (head_of(header).ifa_index == static_cast<std::uint32_t>(index)) {
          auto& body = out.emplace_back(header.begin(), header.end());
          body.insert(body.end(), attributes.bytes().begin(), attributes.bytes().end());
        }
      });
  return out;
}

// The offloads to set again on the TUN device: those that were active.
unsigned offload_flags(const std::vector<Feature>& features) {
  constexpr std::pair<const char*, unsigned> known[] = {
      {"tx-checksum-ip-generic", TUN_F_CSUM}, {"tx-tcp-segmentation", TUN_F_TSO4},
      {"tx-tcp6-segmentation", TUN_F_TSO6},   {"tx-tcp-ecn-segmentation", TUN_F_TSO_ECN},
      {"tx-udp-segmentation", 0x20 | 0x40},  // TUN_F_USO4 and TUN_F_USO6 of kernel 6.2
  };
  unsigned flags = 0;
  for (const Feature& each : features) {
    for (auto const& [name, flag] : known) {
      flags |= each.active && each.name == name ? flag : 0;
    }
  }
  return flags;
}

}  // namespace

std::optional<TapBefore> TapBefore::of(const std::string& name) {
  Descriptor const control = control_socket();
  ifreq request = request_for(name);
  if (ioctl(control.number(), SIOCGIFINDEX, &request) != 0) {
    return std::nullopt;
  }
  TapBefore out;
  out.name_ = name;
  out.index_ = request.ifr_ifindex;
  out.mtu_ = ioctl(control.number(), SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
  out.flags_ = ioctl(control.number(), SIOCGIFFLAGS, &request) == 0 ? request.ifr_flags : short{};
  out.addresses_ = addresses_of(out.index_);
  out.features_ = features_of(name);
  return out;
}

void TapBefore::note_device(const Descriptor& device) {
  device_ = Descriptor(fcntl(device.number(), F_DUPFD_CLOEXEC, 0));
  static_cast<void>(ioctl(device_.number(), TUNGETVNETHDRSZ, &header_bytes_));
  static_cast<void>(ioctl(device_.number(), TUNGETVNETLE, &little_endian_));
}

bool TapBefore::had(const HostAddress& address) const {
  std::vector<std::byte> const octets = network_octets(address.address);
  return std::ranges::any_of(addresses_, [&](const auto& body) {
    auto const attributes = std::span<const std::byte>(body).subspan(sizeof(ifaddrmsg));
    NetlinkAttributes const found(attributes);
    auto local = found.find(IFA_LOCAL);
    local = local ? local : found.find(IFA_ADDRESS);  // for IPv6 only IFA_ADDRESS is present
    return local && std::ranges::equal(*local, octets) &&
           head_of(body).ifa_prefixlen == address.prefix_bits;
  });
}

void TapBefore::given(const HostAddress& address) {
  if (!had(address)) {
    given_.push_back(address);
  }
}

void TapBefore::put_back() {
  Descriptor const control = control_socket();
  ifreq request = request_for(name_);
  request.ifr_mtu = mtu_;
  static_cast<void>(ioctl(control.number(), SIOCSIFMTU, &request));
  request = request_for(name_);
  request.ifr_flags = flags_;
  static_cast<void>(ioctl(control.number(), SIOCSIFFLAGS, &request));
  put_addresses_back();
  put_device_back();
  device_.close();
}

void TapBefore::put_addresses_back() const {
  Netlink netlink(NETLINK_ROUTE);
  for (const HostAddress& each : given_) {
    netlink.ask(address_question(RTM_DELADDR, index_, each), [](auto, const auto&) {});
  }
  // Addresses of IPv6 were removed with an MTU below 1,280 or when the interface went down. The
  // others still exist.
  for (auto const& body : addresses_) {
    NetlinkQuestion again{RTM_NEWADDR, false, body, sizeof(ifaddrmsg), NLM_F_CREATE | NLM_F_EXCL};
    netlink.ask(again, [](auto, const auto&) {});
  }
}

void TapBefore::put_device_back() const {
  if (!device_.is_open()) {
    return;
  }
  static_cast<void>(ioctl(device_.number(), TUNSETVNETHDRSZ, &header_bytes_));
  static_cast<void>(ioctl(device_.number(), TUNSETVNETLE, &little_endian_));
  static_cast<void>(ioctl(device_.number(), TUNSETOFFLOAD, offload_flags(features_)));
  int const none = -1;
  static_cast<void>(ioctl(device_.number(), TUNSETSTEERINGEBPF, &none));
  // Restores requested features, including those that the device cannot activate.
  want_features(name_, features_);
}

bool add_address(int index, const HostAddress& address) {
  NetlinkQuestion question = address_question(RTM_NEWADDR, index, address);
  question.flags = NLM_F_CREATE | NLM_F_EXCL;
  return Netlink(NETLINK_ROUTE).ask(question, [](auto, const auto&) {}) || errno == EEXIST;
}

}  // namespace lockstep::hw
