// Queries by ioctl, getifaddrs(3) and netlink.
#include "hw/interface.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "hw/netlink.hpp"
#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {
namespace {

IpAddress address_of(const sockaddr& from) {
  if (from.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &from, sizeof v4);
    return IpAddress::from(Ipv4{ntohl(v4.sin_addr.s_addr)});
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &from, sizeof v6);
  IpAddress out;
  for (std::uint32_t i = 0; i < 16; ++i) {
    std::uint64_t& half = i < 8 ? out.high : out.low;
    half = half << 8 | v6.sin6_addr.s6_addr[i];
  }
  return out;
}

// The first address of its network.
IpAddress first_of(const IpAddress& address, std::uint32_t prefix_bits) {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  std::uint32_t const bits = prefix_bits + (address.is_v4() ? 96 : 0);
  std::uint64_t const high = bits == 0 ? 0 : bits >= 64 ? all : all << (64 - bits);
  std::uint64_t const low = bits <= 64 ? 0 : bits >= 128 ? all : all << (128 - bits);
  return {address.high & high, address.low & low};
}

std::string text_of(const IpAddress& address) {
  std::vector<std::byte> const octets = network_octets(address);
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.is_v4() ? AF_INET : AF_INET6, octets.data(), text.data(), text.size());
  return text.data();
}

bool is_internet(const sockaddr* address) {
  return address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

// The prefix length of a netmask.
std::uint8_t bits_of(const sockaddr* mask) {
  if (!is_internet(mask)) {
    return 0;
  }
  IpAddress const bits = address_of(*mask);
  bool const v4 = mask->sa_family == AF_INET;
  return static_cast<std::uint8_t>(std::popcount(v4 ? bits.low & 0xffff'ffff : bits.low) +
                                   (v4 ? 0 : std::popcount(bits.high)));
}

// The local route by which the kernel would accept packets to the address.
std::optional<KernelOwner> route_owner(const IpAddress& address) {
  constexpr unsigned match = 0x2000;  // RTM_F_FIB_MATCH of kernel 4.14: the route itself
  rtmsg head{};
  head.rtm_family = address.is_v4() ? AF_INET : AF_INET6;
  head.rtm_dst_len = address.is_v4() ? 32 : 128;
  head.rtm_flags = match;
  NetlinkQuestion question = question_of(RTM_GETROUTE, head);
  put_attribute(question.body, RTA_DST, network_octets(address));
  std::optional<KernelOwner> owner;
  Netlink(NETLINK_ROUTE)
      .ask(question, [&](std::span<const std::byte> header, const NetlinkAttributes& route) {
        std::memcpy(&head, header.data(), sizeof head);
        std::array<char, IF_NAMESIZE> name{};
        auto const index = route.number<std::uint32_t>(RTA_OIF).value_or(0);
        if (head.rtm_type == RTN_LOCAL && if_indextoname(index, name.data()) != nullptr) {
          std::uint8_t const bits = head.rtm_dst_len;
          owner = {name.data(), first_of(address, bits), bits, true};
        }
      });
  return owner;
}

}  // namespace

bool is_interface_name(const std::string& name) {
  return !name.empty() && name.size() < IFNAMSIZ && name != "." && name != ".." &&
         name.find_first_of(" \t\n/:%") == std::string::npos;
}

Trouble look_at(const std::string& name, InterfaceFacts& into) {
  if (!is_interface_name(name)) {
    return {TroubleKind::bad_input,
            "'" + name + "' is not an interface name: 1 to 15 letters, digits or dashes are"};
  }
  Descriptor const asking(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), name.size());
  if (ioctl(asking.number(), SIOCGIFINDEX, &request) != 0) {
    bool const none = errno == ENODEV;
    return {none ? TroubleKind::bad_input : TroubleKind::environment,
            none ? "there is no interface " + name + ": `ip link` lists those that are"
                 : name + ": " + std::strerror(errno)};
  }
  into.index = request.ifr_ifindex;
  bool known = ioctl(asking.number(), SIOCGIFMTU, &request) == 0;
  into.mtu = Bytes{static_cast<std::uint32_t>(std::max(request.ifr_mtu, 0))};
  known = known && ioctl(asking.number(), SIOCGIFHWADDR, &request) == 0;
  into.ethernet = request.ifr_hwaddr.sa_family == ARPHRD_ETHER;
  for (std::uint32_t i = 0; i < 6; ++i) {
    into.mac.octets[i] = static_cast<std::uint8_t>(request.ifr_hwaddr.sa_data[i]);
  }
  known = known && ioctl(asking.number(), SIOCGIFFLAGS, &request) == 0;
  into.up = (request.ifr_flags & IFF_UP) != 0;
  return known ? Trouble{} : Trouble{TroubleKind::environment, name + ": " + std::strerror(errno)};
}

std::optional<KernelOwner> kernel_owner(const IpAddress& address) {
  std::optional<KernelOwner> owner;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) == 0) {
    for (const ifaddrs* each = all; each != nullptr && !owner; each = each->ifa_next) {
      if (is_internet(each->ifa_addr) && address_of(*each->ifa_addr) == address) {
        owner = {each->ifa_name, address, bits_of(each->ifa_netmask), false};
      }
    }
    freeifaddrs(all);
  }
  return owner ? owner : route_owner(address);
}

Trouble refuse_kernel_address(const IpAddress& address) {
  auto const owner = kernel_owner(address);
  if (!owner) {
    return {};
  }
  return {TroubleKind::bad_input,
          owner->is_route ? "the kernel answers for it by its local route " +
                                text_of(owner->first) + "/" + std::to_string(owner->prefix_bits) +
                                " on " + owner->interface + ": choose a free address"
                          : "it is the kernel's own address on " + owner->interface +
                                ", which would answer for us: choose a free address"};
}

std::optional<IpAddress> kernel_router(const std::string& interface) {
  std::ifstream routes("/proc/net/route");  // one line each; addresses as the machine's words
  for (std::string line; std::getline(routes, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint32_t destination = 0;
    std::uint32_t gateway = 0;
    words >> name >> std::hex >> destination >> gateway;
    if (words && name == interface && destination == 0 && gateway != 0) {
      return IpAddress::from(Ipv4{ntohl(gateway)});
    }
  }
  return std::nullopt;
}

}  // namespace lockstep::hw
