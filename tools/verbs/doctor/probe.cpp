// Reads the facts from ioctls, netlink and /proc, and tries each kind of socket once.
#include "tools/verbs/doctor/facts.hpp"

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "hw/address_probe.hpp"
#include "hw/netlink.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

int error_of_socket(int family) {
  hw::Descriptor const tried(socket(family, SOCK_RAW | SOCK_CLOEXEC, 0));
  return tried.is_open() ? 0 : errno;
}

int error_of_bpf() {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_XSKMAP;
  attributes.key_size = 4;
  attributes.value_size = 4;
  attributes.max_entries = 1;
  hw::Descriptor const tried(
      static_cast<int>(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes)));
  return tried.is_open() ? 0 : errno;
}

/// The number after "NAME:" in /proc/meminfo.
std::uint64_t meminfo(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t number = 0;
    if (word == name + ":" && file >> number) {
      return number;
    }
  }
  return 0;
}

bool setting_is_on(const std::string& path) {
  std::ifstream file(path);
  int value = 0;
  return file >> value && value != 0;
}

/// True with CAP_IPC_LOCK, which lifts the limit of locked memory.
bool may_lock_all() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    std::uint64_t rights = 0;
    if (word == "CapEff:" && file >> std::hex >> rights) {
      constexpr unsigned cap_ipc_lock = 14;
      return (rights >> cap_ipc_lock & 1) != 0;
    }
  }
  return false;
}

/// True unless uid_map maps all users to themselves, as in the initial user namespace.
bool is_in_user_namespace() {
  std::ifstream file("/proc/self/uid_map");
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  constexpr std::uint64_t all = 0xffff'ffff;
  return file >> inside >> outside >> count && (inside != 0 || outside != 0 || count != all);
}

MemoryFacts probe_memory() {
  MemoryFacts memory;
  memory.huge_pages = meminfo("HugePages_Total");
  memory.huge_pages_free = meminfo("HugePages_Free");
  rlimit limit{};
  if (!may_lock_all() && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY) {
    memory.locked_bytes_max = limit.rlim_cur;
  }
  return memory;
}

/// Reads the carrier, the XDP program, and the other end of a veth pair.
void probe_link(DoctorFacts& facts) {
  ifinfomsg head{};
  head.ifi_index = facts.interface.index;
  hw::Netlink netlink(NETLINK_ROUTE);
  std::uint32_t peer = 0;
  netlink.ask(hw::question_of(RTM_GETLINK, head), [&](auto, const hw::NetlinkAttributes& link) {
    facts.carrier = link.number<std::uint8_t>(IFLA_CARRIER).value_or(1) != 0;
    if (auto const xdp = link.find(IFLA_XDP)) {
      hw::NetlinkAttributes const inside(*xdp);
      facts.xdp.program = inside.number<std::uint32_t>(IFLA_XDP_PROG_ID).value_or(0);
      facts.xdp.generic =
          inside.number<std::uint8_t>(IFLA_XDP_ATTACHED).value_or(0) == XDP_ATTACHED_SKB;
    }
    bool const pair = facts.driver == "veth";
    facts.peer.elsewhere = pair && link.find(IFLA_LINK_NETNSID).has_value();
    peer = pair ? link.number<std::uint32_t>(IFLA_LINK).value_or(0) : 0;
  });
  std::array<char, IF_NAMESIZE> name{};
  if (peer != 0 && !facts.peer.elsewhere && if_indextoname(peer, name.data()) != nullptr) {
    facts.peer.name = name.data();
    facts.peer.offloads = hw::offloads_of(facts.peer.name);
  }
}

/// Reads the kernel's neighbour tables: how many entries this interface has, and who has our
/// address.
void probe_neighbours(DoctorFacts& facts) {
  ndmsg const all{};
  std::vector<std::byte> const ours =
      facts.address ? hw::network_octets(facts.address->address) : std::vector<std::byte>{};
  hw::NetlinkQuestion question = hw::question_of(RTM_GETNEIGH, all);
  question.all = true;
  hw::Netlink(NETLINK_ROUTE)
      .ask(question, [&](std::span<const std::byte> bytes, const hw::NetlinkAttributes& list) {
        ndmsg head{};
        std::memcpy(&head, bytes.data(), sizeof head);
        auto const address = list.find(NDA_DST);
        auto const mac = list.find(NDA_LLADDR);
        if (!address || (head.ndm_state & NUD_NOARP) != 0) {
          return;
        }
        facts.neighbours += head.ndm_ifindex == facts.interface.index ? 1 : 0;
        std::array<char, IF_NAMESIZE> name{};
        if (facts.address && mac && mac->size() == 6 && std::ranges::equal(ours, *address) &&
            if_indextoname(static_cast<unsigned>(head.ndm_ifindex), name.data()) != nullptr) {
          KnownNeighbour known{name.data(), {}};
          for (std::uint32_t i = 0; i < 6; ++i) {
            known.mac.octets[i] = std::to_integer<std::uint8_t>((*mac)[i]);
          }
          facts.owners.push_back(known);
        }
      });
}

}  // namespace

DoctorFacts probe(const std::string& name, const std::optional<HostAddress>& address) {
  DoctorFacts facts;
  facts.name = name;
  facts.address = address;
  if (auto const trouble = hw::look_at(name, facts.interface)) {
    throw Failure(
        trouble.kind == hw::TroubleKind::bad_input ? ExitCode::bad_input : ExitCode::environment,
        "--iface: " + trouble.text);
  }
  std::error_code none;
  facts.program_path = std::filesystem::read_symlink("/proc/self/exe", none).string();
  facts.in_user_namespace = is_in_user_namespace();
  facts.driver = hw::driver_of(name);
  facts.channels = hw::channels_of(name);
  facts.offloads = hw::offloads_of(name);
  facts.xdp.features = hw::xdp_features_of(facts.interface.index);
  facts.socket_errors = {error_of_socket(AF_PACKET), error_of_socket(AF_XDP), error_of_bpf()};
  facts.memory = probe_memory();
  probe_link(facts);
  probe_neighbours(facts);
  bool const v4 = !address || address->address.is_v4();
  facts.forwards = setting_is_on("/proc/sys/net/" + std::string(v4 ? "ipv4" : "ipv6") + "/conf/" +
                                 name + "/forwarding");
  facts.clash = address ? hw::kernel_owner(address->address) : std::nullopt;
  if (address && address->address.is_v4() && !facts.clash) {
    facts.wire_owner = hw::owner_on_wire(facts.interface, address->address.as_v4());
  }
  return facts;
}

}  // namespace lockstep::tools
