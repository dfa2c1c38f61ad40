// Four ioctls, and getifaddrs(3).
#include "hw/interface.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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

}  // namespace

bool is_interface_name(const std::string& name) {
  return !name.empty() && name.size() < IFNAMSIZ && name != "." && name != ".." &&
         name.find_first_of(" \t\n/:%") == std::string::npos;
}

Trouble look_at(const std::string& name, InterfaceFacts& into) {
  if (!is_interface_name(name)) {
    return {TroubleKind::bad_input,
            "'" + name + "' is no name for an interface: 1 to 15 letters, digits or dashes are"};
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
  return known ? Trouble{}
               : Trouble{TroubleKind::environment, name + ": " + std::strerror(errno)};
}

Trouble refuse_kernel_address(const IpAddress& address) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) {
    return {TroubleKind::environment,
            std::string("the kernel's addresses cannot be read: ") + std::strerror(errno)};
  }
  Trouble trouble;
  for (const ifaddrs* each = all; each != nullptr && !trouble; each = each->ifa_next) {
    bool const internet = each->ifa_addr != nullptr && (each->ifa_addr->sa_family == AF_INET ||
                                                        each->ifa_addr->sa_family == AF_INET6);
    if (internet && address_of(*each->ifa_addr) == address) {
      trouble = {TroubleKind::bad_input,
                 std::string("it is the kernel's own address on ") + each->ifa_name +
                     ", which would answer for us: choose a free address"};
    }
  }
  freeifaddrs(all);
  return trouble;
}

}  // namespace lockstep::hw
