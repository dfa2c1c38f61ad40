// Queries by ioctl(2).
#include "hw/link_mtu.hpp"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

namespace lockstep::hw {
namespace {

constexpr Duration between_mtu_looks = Duration::seconds(1);
constexpr int mtu_least = 68;  // of a link that carries IPv4 (RFC 791)
constexpr int mtu_most = 65'535;

}  // namespace

LinkMtu::LinkMtu(const std::string& interface, Bytes mtu)
    : interface_(interface),
      mtu_(mtu),
      socket_(interface.empty() ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

Bytes LinkMtu::look(Instant now) {
  if (interface_.empty() || now < next_) {
    return mtu_;
  }
  next_ = now + between_mtu_looks;
  ifreq request{};
  interface_.copy(request.ifr_name, IFNAMSIZ - 1);
  if (ioctl(socket_.number(), SIOCGIFMTU, &request) == 0) {
    mtu_ = Bytes{static_cast<std::uint32_t>(std::clamp(request.ifr_mtu, mtu_least, mtu_most))};
  }
  return mtu_;
}

}  // namespace lockstep::hw
