// Opens AF_XDP sockets with their memory and four rings, and binds them.
#include "hw/af_xdp/setup.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/units/check.hpp"
#include "hw/ethtool.hpp"

namespace lockstep::hw {
namespace {

constexpr std::uint32_t frames_each_way = 2048;
constexpr std::uint32_t link_bytes = 18;
constexpr std::uint32_t headroom_bytes = 256;  // XDP_PACKET_HEADROOM
constexpr std::uint32_t chunk_least = 2048;
constexpr std::uint32_t chunk_most = 4096;  // a page
// The kernel releases a queue a moment after the previous socket was closed, so bind() is retried.
constexpr int binds_max = 100;
constexpr long between_binds_ns = 20'000'000;

std::uint32_t chunk_for(Bytes mtu) {
  return headroom_bytes + mtu.count + link_bytes <= chunk_least ? chunk_least : chunk_most;
}

template <class Value>
bool set(const Descriptor& socket, int option, const Value& value) {
  return setsockopt(socket.number(), SOL_XDP, option, &value, sizeof value) == 0;
}

Trouble refuse_other_queues(const std::string& name, Count used) {
  auto const channels = channels_of(name);  // a device whose queues cannot be set has one
  std::uint32_t const arriving = channels ? std::max(1u, channels->arriving()) : 1;
  std::uint32_t const leaving = channels ? std::max(1u, channels->leaving()) : 1;
  std::string const mend = "`ethtool -L " + name + " " +
                           channel_words(channels.value_or(ChannelCounts{}), used.value) + "`";
  if (arriving == used.value && leaving < used.value) {
    return environment(name + " has " + std::to_string(used.value) + " queues to receive and " +
                       std::to_string(leaving) + " to send, so frames of the others could not " +
                       "leave: " + mend + ", or --driver packet");
  }
  if (arriving == used.value) {
    return {};
  }
  std::string const several =
      arriving > 1 ? " (or --shards " + std::to_string(arriving) + ", one for each)" : "";
  return environment(name + " spreads received frames over " + std::to_string(arriving) +
                     (arriving == 1 ? " queue" : " queues") + ", of which only " +
                     std::to_string(used.value) + (used.value == 1 ? " is" : " are") +
                     " used: " + mend + several + ", or --driver packet");
}

Trouble socket_trouble(int error) {
  if (error == EPERM || error == EACCES) {
    return environment(
        "no right to open an AF_XDP socket: run as root, or with CAP_BPF, "
        "CAP_NET_ADMIN and CAP_NET_RAW");
  }
  if (error == EAFNOSUPPORT) {
    return environment(
        "this kernel has no AF_XDP: one with CONFIG_XDP_SOCKETS is needed, or "
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
  return environment(std::string("AF_XDP refuses the memory: ") + std::strerror(errno));
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
         map_ring(
             socket,
             {XDP_UMEM_COMPLETION_RING, static_cast<off_t>(XDP_UMEM_PGOFF_COMPLETION_RING), at.cr},
             maps[3], rings.completion);
  return fine ? Trouble{} : environment(std::string("AF_XDP rings: ") + std::strerror(errno));
}

// Uses zero-copy if the driver has it; in generic mode there is none.
Trouble bind_to(const XdpSettings& settings, int index, XdpDevice& device) {
  sockaddr_xdp local{};
  local.sxdp_family = AF_XDP;
  local.sxdp_flags = XDP_USE_NEED_WAKEUP;
  if (settings.must_be_zero_copy) {
    local.sxdp_flags |= XDP_ZEROCOPY;
  } else if (!device.mode.native) {
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
    bool const bound =
        bind(device.socket.number(), reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0;
    error = bound ? 0 : errno;
  }
  if (error == EBUSY) {
    return environment("queue " + std::to_string(device.queue) + " of " + settings.name +
                       " is in use by another AF_XDP socket: end its program");
  }
  if (error == EOPNOTSUPP && settings.must_be_zero_copy) {
    return environment(settings.name + " has the driver " + driver_of(settings.name) +
                       ", which has no zero-copy: --driver xdp lets the kernel copy");
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

// Receives IPv6 multicast groups that the kernel itself has not joined.
Trouble receive_groups(const std::string& name, int index, Descriptor& into) {
  into = Descriptor(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  packet_mreq groups{};
  groups.mr_ifindex = index;
  groups.mr_type = PACKET_MR_ALLMULTI;
  if (setsockopt(into.number(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &groups, sizeof groups) != 0) {
    return environment(name + " does not receive all multicast groups: " + std::strerror(errno));
  }
  return {};
}

Trouble refuse_interface(const XdpSettings& settings, Count queues, const InterfaceFacts& facts) {
  if (!facts.ethernet) {
    return {TroubleKind::bad_input,
            settings.name + " has no Ethernet frames: choose an interface that has"};
  }
  if (!facts.up) {
    return environment(settings.name + " is down: `ip link set dev " + settings.name + " up`");
  }
  if (settings.mtu.count > xdp_mtu_max.count) {
    return {TroubleKind::bad_input, settings.name + ": AF_XDP takes an MTU of " +
                                        std::to_string(xdp_mtu_max.count) + " at most, not " +
                                        std::to_string(settings.mtu.count) +
                                        ": --mtu 1500, or --driver packet"};
  }
  return refuse_other_queues(settings.name, queues);
}

// Duplicates a descriptor.
Descriptor again(const Descriptor& descriptor) {
  return Descriptor(fcntl(descriptor.number(), F_DUPFD_CLOEXEC, 0));
}

// Opens one queue's socket with its memory and rings; the program is already attached.
Trouble open_queue(const XdpSettings& settings, int index, const XdpProgram& program,
                   XdpDevice& into) {
  into.socket = Descriptor(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!into.socket.is_open()) {
    return socket_trouble(errno);
  }
  into.chunk_bytes = chunk_for(settings.mtu);
  into.headroom_bytes = headroom_bytes;
  Trouble trouble = map_memory(xdp_memory_bytes(settings.mtu), into.umem);
  trouble = trouble ? trouble : register_memory(into);
  trouble = trouble ? trouble : make_rings(into);
  into.mode = {program.native, false, driver_of(settings.name) == "veth"};
  trouble = trouble ? trouble : bind_to(settings, index, into);
  trouble = trouble ? trouble : give_queue(program, into.queue, into.socket);
  if (!trouble) {
    into.map = again(program.map);
    into.link = again(program.link);
  }
  return trouble;
}

// Moves the calling thread to a processor for its lifetime, so that memory it touches is local to
// it.
class There {
 public:
  explicit There(Cpu cpu) {
    CPU_ZERO(&before_);
    known_ = sched_getaffinity(0, sizeof before_, &before_) == 0;
    trouble = pin_to(cpu);
  }
  ~There() {
    if (known_) {
      sched_setaffinity(0, sizeof before_, &before_);
    }
  }
  There(const There&) = delete;
  There& operator=(const There&) = delete;

  Trouble trouble;

 private:
  cpu_set_t before_;
  bool known_ = false;
};

}  // namespace

std::uint64_t xdp_memory_bytes(Bytes mtu) {
  return std::uint64_t{chunk_for(mtu)} * frames_each_way * 2;
}

Trouble open_xdp_queues(const XdpSettings& settings, Count queues, const std::vector<Cpu>& cpus,
                        std::vector<XdpDevice>& into, InterfaceFacts& facts) {
  CHECK(cpus.empty() || cpus.size() == queues.value);
  Trouble trouble = look_at(settings.name, facts);
  trouble = trouble ? trouble : refuse_interface(settings, queues, facts);
  // Check the permission to open a socket before the program is attached.
  if (!trouble && !Descriptor(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)).is_open()) {
    trouble = socket_trouble(errno);
  }
  std::vector<XdpDevice> made(queues.value);
  trouble = trouble ? trouble : receive_groups(settings.name, facts.index, made.front().groups);
  XdpProgram program;
  trouble = trouble ? trouble
                    : attach_xdp_program(settings.name, facts.index, queues.value, settings.place,
                                         program);
  for (std::uint32_t i = 0; i < queues.value && !trouble; ++i) {
    std::optional<There> there;
    if (!cpus.empty()) {
      trouble = there.emplace(cpus[i]).trouble;
    }
    made[i].queue = i;
    trouble = trouble ? trouble : open_queue(settings, facts.index, program, made[i]);
  }
  for (std::uint32_t i = 1; i < queues.value && !trouble; ++i) {
    made[i].groups = again(made.front().groups);
  }
  if (!trouble) {
    into = std::move(made);
  }
  return trouble;
}

std::string text_of(const XdpMode& mode) {
  return std::string(mode.native ? "native XDP" : "generic XDP") +
         (mode.zero_copy ? ", zero-copy" : ", copied");
}

}  // namespace lockstep::hw
