// socket(2) of AF_XDP, its memory and its four rings; bind(2).
#include "hw/af_xdp/setup.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hw/ethtool.hpp"

namespace lockstep::hw {
namespace {

constexpr std::uint32_t frames_each_way = 2048;
constexpr std::uint32_t link_bytes = 18;
constexpr std::uint32_t headroom_bytes = 256;  // XDP_PACKET_HEADROOM
constexpr std::uint32_t chunk_least = 2048;
constexpr std::uint32_t chunk_most = 4096;  // a page
// What a socket before us had bound is let go of a moment after it was closed.
constexpr int binds_max = 100;
constexpr long between_binds_ns = 20'000'000;

std::uint32_t chunk_for(Bytes mtu) {
  return headroom_bytes + mtu.count + link_bytes <= chunk_least ? chunk_least : chunk_most;
}

Trouble environment(std::string text) { return {TroubleKind::environment, std::move(text)}; }

template <class Value>
bool set(const Descriptor& socket, int option, const Value& value) {
  return setsockopt(socket.number(), SOL_XDP, option, &value, sizeof value) == 0;
}

Trouble refuse_many_queues(const std::string& name) {
  auto const channels = channels_of(name);  // nothing: a device without queues to set has one
  if (!channels || channels->arriving() <= 1) {
    return {};
  }
  return environment(name + " spreads what arrives over " + std::to_string(channels->arriving()) +
                     " queues, of which one is heard: `ethtool -L " + name +
                     (channels->combined != 0 ? " combined 1`" : " rx 1`") +
                     ", or --driver packet");
}

Trouble socket_trouble(int error) {
  if (error == EPERM || error == EACCES) {
    return environment("no right to open an AF_XDP socket: run as root, or with CAP_BPF, "
                       "CAP_NET_ADMIN and CAP_NET_RAW");
  }
  if (error == EAFNOSUPPORT) {
    return environment("this kernel has no AF_XDP: one with CONFIG_XDP_SOCKETS is needed, or "
                       "--driver packet");
  }
  return environment(std::string("AF_XDP socket: ") + std::strerror(error));
}

Trouble map_memory(std::uint64_t bytes, Mapping& into) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (at == MAP_FAILED) {
    return environment("no memory for frames: " + std::to_string(bytes) + " octets are needed");
  }
  into = Mapping({static_cast<std::byte*>(at), bytes});
  return {};
}

Trouble register_memory(XdpDevice& device) {
  auto const frames = device.umem.bytes();
  xdp_umem_reg area{};
  area.addr = reinterpret_cast<std::uintptr_t>(frames.data());
  area.len = frames.size();
  area.chunk_size = device.chunk_bytes;
  if (set(device.socket, XDP_UMEM_REG, area)) {
    device.frames = frames;
    return {};
  }
  if (errno == ENOBUFS) {
    return environment("the limit of locked memory is below the " +
                       std::to_string(frames.size() / 1024) +
                       " KiB of frames: `ulimit -l unlimited`, or run with CAP_IPC_LOCK");
  }
  return environment(std::string("AF_XDP takes no memory: ") + std::strerror(errno));
}

struct RingPlace {
  int option;
  off_t page_offset;
  xdp_ring_offset offsets;
};

template <class Entry>
bool map_ring(const Descriptor& socket, const RingPlace& place, Mapping& map,
              RingMemory<Entry>& into) {
  std::size_t const bytes = place.offsets.desc + frames_each_way * sizeof(Entry);
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        socket.number(), place.page_offset);
  if (at == MAP_FAILED) {
    return false;
  }
  auto* const base = static_cast<std::byte*>(at);
  map = Mapping({base, bytes});
  auto const word = [&](std::uint64_t offset) {
    return reinterpret_cast<std::uint32_t*>(base + offset);
  };
  into = {word(place.offsets.producer), word(place.offsets.consumer), word(place.offsets.flags),
          reinterpret_cast<Entry*>(base + place.offsets.desc), frames_each_way};
  return true;
}

Trouble make_rings(XdpDevice& device) {
  Descriptor const& socket = device.socket;
  bool fine = true;
  for (int const option :
       {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING}) {
    fine = fine && set(socket, option, frames_each_way);
  }
  xdp_mmap_offsets at{};
  socklen_t length = sizeof at;
  fine = fine && getsockopt(socket.number(), SOL_XDP, XDP_MMAP_OFFSETS, &at, &length) == 0;
  if (fine && length != sizeof at) {
    return environment("a kernel of 5.4 or later is needed for AF_XDP, or --driver packet");
  }
  XdpRings& rings = device.rings;
  auto& maps = device.ring_maps;
  fine = fine &&
         map_ring(socket, {XDP_UMEM_FILL_RING, static_cast<off_t>(XDP_UMEM_PGOFF_FILL_RING), at.fr},
                  maps[0], rings.fill) &&
         map_ring(socket, {XDP_RX_RING, XDP_PGOFF_RX_RING, at.rx}, maps[1], rings.receive) &&
         map_ring(socket, {XDP_TX_RING, static_cast<off_t>(XDP_PGOFF_TX_RING), at.tx}, maps[2],
                  rings.transmit) &&
         map_ring(socket,
                  {XDP_UMEM_COMPLETION_RING, static_cast<off_t>(XDP_UMEM_PGOFF_COMPLETION_RING),
                   at.cr},
                  maps[3], rings.completion);
  return fine ? Trouble{} : environment(std::string("AF_XDP rings: ") + std::strerror(errno));
}

// Zero-copy where the driver has it; behind the driver there is no such thing.
Trouble bind_to(const XdpSettings& settings, int index, XdpDevice& device) {
  sockaddr_xdp local{};
  local.sxdp_family = AF_XDP;
  local.sxdp_flags = XDP_USE_NEED_WAKEUP;
  if (!device.mode.native) {
    local.sxdp_flags |= XDP_COPY;
  }
  local.sxdp_ifindex = static_cast<std::uint32_t>(index);
  local.sxdp_queue_id = device.queue;
  int error = EBUSY;
  for (int i = 0; i < binds_max && error == EBUSY; ++i) {
    if (i != 0) {
      timespec const pause{0, between_binds_ns};
      nanosleep(&pause, nullptr);
    }
    bool const bound = bind(device.socket.number(), reinterpret_cast<const sockaddr*>(&local),
                            sizeof local) == 0;
    error = bound ? 0 : errno;
  }
  if (error == EBUSY) {
    return environment("queue " + std::to_string(device.queue) + " of " + settings.name +
                       " is in use by another AF_XDP socket: end its program");
  }
  if (error != 0) {
    return environment(settings.name + " cannot be bound to by AF_XDP: " + std::strerror(error) +
                       ": use --driver packet");
  }
  xdp_options options{};
  socklen_t length = sizeof options;
  device.mode.zero_copy =
      getsockopt(device.socket.number(), SOL_XDP, XDP_OPTIONS, &options, &length) == 0 &&
      (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
  return {};
}

// Groups of IPv6 reach us although the kernel has not joined ours.
Trouble hear_groups(const std::string& name, int index, Descriptor& into) {
  into = Descriptor(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  packet_mreq groups{};
  groups.mr_ifindex = index;
  groups.mr_type = PACKET_MR_ALLMULTI;
  if (setsockopt(into.number(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &groups, sizeof groups) != 0) {
    return environment(name + " does not hear all groups: " + std::strerror(errno));
  }
  return {};
}

Trouble refuse_interface(const XdpSettings& settings, const InterfaceFacts& facts) {
  if (!facts.ethernet) {
    return {TroubleKind::bad_input,
            settings.name + " has no Ethernet frames: choose an interface that has"};
  }
  if (!facts.up) {
    return environment(settings.name + " is down: `ip link set dev " + settings.name + " up`");
  }
  if (settings.mtu.count > xdp_mtu_max.count) {
    return {TroubleKind::bad_input,
            settings.name + ": AF_XDP takes an MTU of " + std::to_string(xdp_mtu_max.count) +
                " at most, not " + std::to_string(settings.mtu.count) +
                ": --mtu 1500, or --driver packet"};
  }
  return refuse_many_queues(settings.name);
}

}  // namespace

std::uint64_t xdp_memory_bytes(Bytes mtu) {
  return std::uint64_t{chunk_for(mtu)} * frames_each_way * 2;
}

Trouble open_xdp(const XdpSettings& settings, XdpDevice& into, InterfaceFacts& facts) {
  Trouble trouble = look_at(settings.name, facts);
  if (!trouble) {
    trouble = refuse_interface(settings, facts);
  }
  if (trouble) {
    return trouble;
  }
  XdpDevice made;
  made.socket = Descriptor(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!made.socket.is_open()) {
    return socket_trouble(errno);
  }
  made.chunk_bytes = chunk_for(settings.mtu);
  made.headroom_bytes = headroom_bytes;
  XdpProgram program;
  trouble = map_memory(xdp_memory_bytes(settings.mtu), made.umem);
  trouble = trouble ? trouble : register_memory(made);
  trouble = trouble ? trouble : make_rings(made);
  trouble = trouble ? trouble : hear_groups(settings.name, facts.index, made.groups);
  trouble = trouble ? trouble
                    : attach_xdp_program(settings.name, facts.index, 1, settings.place, program);
  if (!trouble) {
    made.mode = {program.native, false, driver_of(settings.name) == "veth"};
    trouble = bind_to(settings, facts.index, made);
  }
  trouble = trouble ? trouble : give_queue(program, made.queue, made.socket);
  if (!trouble) {
    made.map = std::move(program.map);
    made.link = std::move(program.link);
    into = std::move(made);
  }
  return trouble;
}

std::string text_of(const XdpMode& mode) {
  return std::string(mode.native ? "native XDP" : "generic XDP") +
         (mode.zero_copy ? ", zero-copy" : ", copied");
}

}  // namespace lockstep::hw
