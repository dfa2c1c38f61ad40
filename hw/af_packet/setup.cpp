// socket(2), its options, bind(2).
#include "hw/af_packet/setup.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace lockstep::hw {
namespace {

Trouble environment(std::string text) { return {TroubleKind::environment, std::move(text)}; }

template <class Value>
bool set(const Descriptor& socket, int level, int option, const Value& value) {
  return setsockopt(socket.number(), level, option, &value, sizeof value) == 0;
}

Trouble configure(const Descriptor& socket, const PacketSocketSettings& settings, int index) {
  int const on = 1;
  packet_mreq groups{};
  groups.mr_ifindex = index;
  groups.mr_type = PACKET_MR_ALLMULTI;
  bool const fine = set(socket, SOL_PACKET, PACKET_VNET_HDR, on) &&
                    set(socket, SOL_PACKET, PACKET_AUXDATA, on) &&
                    set(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, on) &&
                    set(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, groups);
  if (!fine) {
    return environment(settings.name + ": " + std::strerror(errno) +
                       ": a kernel of 4.20 or later is needed");
  }
  auto const bytes = static_cast<int>(settings.receive_buffer.count);
  if (!set(socket, SOL_SOCKET, SO_RCVBUFFORCE, bytes)) {
    set(socket, SOL_SOCKET, SO_RCVBUF, bytes);  // as much as anybody may have
  }
  sockaddr_ll local{};
  local.sll_family = AF_PACKET;
  local.sll_protocol = htons(ETH_P_ALL);
  local.sll_ifindex = index;
  if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) {
    return environment(settings.name + " cannot be bound to: " + std::strerror(errno));
  }
  return {};
}

}  // namespace

Trouble open_packet_socket(const PacketSocketSettings& settings, Descriptor& into,
                           InterfaceFacts& facts) {
  if (Trouble trouble = look_at(settings.name, facts)) {
    return trouble;
  }
  if (!facts.ethernet) {
    return {TroubleKind::bad_input,
            settings.name + " has no Ethernet frames: choose an interface that has"};
  }
  if (!facts.up) {
    return environment(settings.name + " is down: `ip link set dev " + settings.name + " up`");
  }
  // No protocol: nothing arrives before it is bound.
  Descriptor opened(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!opened.is_open()) {
    bool const right = errno == EPERM || errno == EACCES;
    return environment(right ? std::string("no right to open a packet socket: run as root, or with "
                                           "CAP_NET_RAW")
                             : std::string("packet socket: ") + std::strerror(errno));
  }
  Trouble trouble = configure(opened, settings, facts.index);
  if (!trouble) {
    into = std::move(opened);
  }
  return trouble;
}

}  // namespace lockstep::hw
