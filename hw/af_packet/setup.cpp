// Opens a packet socket: socket(2), its options, bind(2).
#include "hw/af_packet/setup.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "hw/shards/steering.hpp"

namespace lockstep::hw {
namespace {

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
    set(socket, SOL_SOCKET, SO_RCVBUF, bytes);  // the most without CAP_NET_ADMIN
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
  // Protocol 0, so that nothing arrives before bind().
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

namespace {

// Defined in if_packet.h from Linux 6.1.
constexpr std::uint32_t fanout_ignores_outgoing = 0x4000;

// The first socket makes a group with a number chosen by the kernel; the others join it.
Trouble join(const std::vector<Descriptor>& sockets, const PacketSocketSettings& settings) {
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    std::uint32_t kind = PACKET_FANOUT_CBPF | fanout_ignores_outgoing;
    kind |= i == 0 ? std::uint32_t{PACKET_FANOUT_FLAG_UNIQUEID} : 0;
    if (!set(sockets[i], SOL_PACKET, PACKET_FANOUT, group | kind << 16)) {
      return environment(settings.name + ": sockets cannot share it: " + std::strerror(errno) +
                         ": a kernel of 4.12 or later is needed");
    }
    socklen_t length = sizeof group;
    if (getsockopt(sockets[i].number(), SOL_PACKET, PACKET_FANOUT, &group, &length) != 0) {
      return environment(settings.name + ": " + std::strerror(errno));
    }
    group &= 0xffff;
  }
  std::vector<sock_filter> program = steering_filter({static_cast<std::uint32_t>(sockets.size())});
  sock_fprog const steering{static_cast<unsigned short>(program.size()), program.data()};
  if (!set(sockets.front(), SOL_PACKET, PACKET_FANOUT_DATA, steering)) {
    return environment(settings.name +
                       ": the kernel refuses the steering program: " + std::strerror(errno));
  }
  return {};
}

// Discards frames that arrived before the sockets formed a group, because each socket got a copy.
void forget_what_came(const Descriptor& socket) {
  constexpr std::uint32_t most = 65'536;
  for (std::uint32_t i = 0; i < most; ++i) {
    if (recv(socket.number(), nullptr, 0, MSG_DONTWAIT | MSG_TRUNC) < 0) {
      return;
    }
  }
}

}  // namespace

Trouble open_packet_sockets(const PacketSocketSettings& settings, Count sockets,
                            std::vector<Descriptor>& into, InterfaceFacts& facts) {
  into.clear();
  for (std::uint32_t i = 0; i < sockets.value; ++i) {
    Trouble trouble = open_packet_socket(settings, into.emplace_back(), facts);
    if (trouble) {
      into.clear();
      return trouble;
    }
  }
  if (sockets.value > 1) {
    Trouble trouble = join(into, settings);
    if (trouble) {
      into.clear();
      return trouble;
    }
    for (const Descriptor& each : into) {
      forget_what_came(each);
    }
  }
  return {};
}

}  // namespace lockstep::hw
