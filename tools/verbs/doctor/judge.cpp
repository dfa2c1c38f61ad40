// The checks: one function for each line of the table.
#include "tools/verbs/doctor/judge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hw/af_xdp/setup.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

// NETDEV_XDP_ACT_* of linux/netdev.h, kernel 6.3 and later.
constexpr std::uint64_t feature_basic = 1;
constexpr std::uint64_t feature_redirect = 2;
constexpr std::uint64_t feature_zero_copy = 8;

bool is_xdp(DriverKind driver) { return driver != DriverKind::packet; }

bool is_native_known(const DoctorFacts& facts) {
  constexpr std::uint64_t wanted = feature_basic | feature_redirect;
  return facts.xdp.features && (*facts.xdp.features & wanted) == wanted;
}

/// Whether the XDP program would run in generic mode, as far as is known.
bool would_be_generic(const DoctorFacts& facts, DriverKind driver) {
  return driver == DriverKind::xdp_generic ||
         (driver == DriverKind::xdp && facts.xdp.features && !is_native_known(facts));
}

Check interface_check(const DoctorFacts& facts, const DoctorQuestion&) {
  Check out{"interface", Severity::fine, "", ""};
  out.found = fmt::format("{}{}{}", facts.driver.empty() ? "driver unknown" : facts.driver,
                          facts.interface.up ? ", up" : ", down",
                          !facts.carrier && facts.interface.up ? ", no carrier" : "");
  if (!facts.interface.ethernet) {
    out.found += ", no Ethernet frames";
    out.mend = "choose an Ethernet interface: `ip -br link` lists them";
  } else if (!facts.interface.up) {
    out.mend = "ip link set dev " + facts.name + " up";
  } else if (!facts.carrier) {
    out.mend = facts.peer.name.empty() ? "bring the other end up"
                                       : "ip link set dev " + facts.peer.name + " up";
  }
  out.severity = out.mend.empty() ? Severity::fine : Severity::breaks;
  return out;
}

std::string give_rights(const DoctorFacts& facts, const std::string& rights) {
  return fmt::format("setcap {} {}, or run as root", rights, facts.program_path);
}

Check rights_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  SocketErrors const& socket_errors = facts.socket_errors;
  auto const lacks = [](int error) { return error == EPERM || error == EACCES; };
  if (!is_xdp(question.driver)) {
    if (lacks(socket_errors.packet_socket)) {
      return {"rights", Severity::breaks, "not permitted to open packet sockets",
              give_rights(facts, "cap_net_raw+ep")};
    }
    return {"rights", Severity::fine, "packet sockets", ""};
  }
  if (lacks(socket_errors.xdp_socket) || lacks(socket_errors.bpf)) {
    bool const root_here = !lacks(socket_errors.xdp_socket) && facts.in_user_namespace;
    return {"rights", Severity::breaks,
            lacks(socket_errors.xdp_socket) ? "not permitted to open AF_XDP sockets"
                                            : "not permitted to call bpf(2)",
            root_here ? "run as root outside of this user namespace"
                      : give_rights(facts, "cap_net_raw,cap_net_admin,cap_bpf+ep")};
  }
  return {"rights", Severity::fine, "AF_XDP sockets, bpf(2)", ""};
}

Check kernel_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  SocketErrors const& socket_errors = facts.socket_errors;
  if (!is_xdp(question.driver)) {
    bool const none = socket_errors.packet_socket == EAFNOSUPPORT;
    return none ? Check{"kernel", Severity::breaks, "no packet sockets",
                        "run a kernel with CONFIG_PACKET"}
                : Check{"kernel", Severity::fine, "packet sockets", ""};
  }
  if (socket_errors.xdp_socket == EAFNOSUPPORT) {
    return {"kernel", Severity::breaks, "no AF_XDP",
            "run a kernel with CONFIG_XDP_SOCKETS, or --driver packet"};
  }
  if (socket_errors.bpf == ENOSYS || socket_errors.bpf == EINVAL) {
    return {"kernel", Severity::breaks, "no BPF map type for AF_XDP sockets",
            "run a kernel with CONFIG_BPF_SYSCALL and CONFIG_XDP_SOCKETS, or --driver packet"};
  }
  return {"kernel", Severity::fine, "AF_XDP", ""};
}

Check xdp_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Check out{"XDP in the driver", Severity::fine, "", ""};
  if (!facts.xdp.features) {
    out.found = "unknown: kernels before 6.3 do not report it";
    out.severity = is_xdp(question.driver) ? Severity::note : Severity::fine;
    return out;
  }
  bool const zero_copy = (*facts.xdp.features & feature_zero_copy) != 0;
  bool const native = is_native_known(facts);
  out.found =
      native ? (zero_copy ? "native, zero-copy" : "native, with copies") : "none: generic only";
  bool const wants_native =
      question.driver == DriverKind::xdp_native || question.driver == DriverKind::xdp_zero_copy;
  if (!native && wants_native) {
    out.severity = Severity::breaks;
    out.mend = "--driver xdp-generic, or --driver packet";
  } else if (!zero_copy && question.driver == DriverKind::xdp_zero_copy) {
    out.severity = Severity::breaks;
    out.mend = "--driver xdp, which copies";
  } else if (!native && question.driver == DriverKind::xdp) {
    out.severity = Severity::note;
  }
  return out;
}

Check program_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  if (facts.xdp.program == 0) {
    return {"XDP program", Severity::fine, "none", ""};
  }
  bool const ours = is_xdp(question.driver);
  return {"XDP program", ours ? Severity::breaks : Severity::note,
          fmt::format("program {} is attached{}", facts.xdp.program,
                      ours ? "" : ": it gets each frame before the packet socket does"),
          ours ? fmt::format("stop its owner, or: ip link set dev {} {} off", facts.name,
                             facts.xdp.generic ? "xdpgeneric" : "xdp")
               : ""};
}

/// AF_XDP reads and writes one queue per shard: frames in other queues would be lost, and a shard
/// whose queue cannot send would not answer.
Check queues_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Check out{"queues and RSS", Severity::fine, "one queue: the driver has no setting for it", ""};
  std::uint32_t const count = facts.channels ? std::max(1u, facts.channels->arriving()) : 1;
  if (facts.channels) {
    out.found = count == 1 ? "one queue" : fmt::format("RSS spreads frames over {} queues", count);
  }
  std::uint32_t const leaving = facts.channels ? std::max(1u, facts.channels->leaving()) : 1;
  if (leaving < count) {
    out.found += fmt::format(", of which {} can send", leaving);
  }
  if (is_xdp(question.driver) && (count != question.shards || leaving < question.shards)) {
    out.severity = Severity::breaks;
    out.found += question.shards == 1 ? "" : fmt::format(", for {} shards", question.shards);
    out.mend = facts.channels ? fmt::format("ethtool -L {} {}", facts.name,
                                            hw::channel_words(*facts.channels, question.shards))
                              : "--shards 1";
  }
  return out;
}

void add_word(std::string& text, const char* word, const std::optional<bool>& is) {
  if (is.value_or(false)) {
    text += (text.empty() ? "" : " ") + std::string(word);
  }
}

Check checksums_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Check out{"checksums", Severity::fine, "", ""};
  bool const peer = facts.peer.offloads.send_checksum.value_or(false);
  if (!is_xdp(question.driver)) {
    out.found = "the kernel marks frames whose checksum was offloaded";
  } else if (facts.driver == "veth") {
    out.found = facts.peer.elsewhere ? "the other end is in another namespace: if it offloads "
                                       "checksums, that is detected"
                : peer               ? facts.peer.name + " offloads them, which is detected"
                                     : "the other end computes them";
  } else {
    out.found = "all are verified";
  }
  return out;
}

/// Frames longer than the MTU: segments merged on receive (GRO, LRO) or not yet split on send (TSO,
/// GSO).
Check segments_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Check out{"long frames", Severity::fine, "", ""};
  if (!is_xdp(question.driver)) {
    std::string merged;
    add_word(merged, "gro", facts.offloads.gro);
    add_word(merged, "lro", facts.offloads.lro);
    out.found = merged.empty() ? "no receive offload merges segments"
                               : merged + " on: merged frames are split again";
    return out;
  }
  std::string here;
  std::string commands;
  auto const off = [&](const std::string& name, const std::string& words) {
    if (!words.empty()) {
      here += fmt::format("{}{} on at {}", here.empty() ? "" : ", ", words, name);
      std::string options;
      for (char const c : words + " ") {
        options += c == ' ' ? " off " : std::string(1, c);
      }
      options.pop_back();
      commands += fmt::format("{}ethtool -K {} {}", commands.empty() ? "" : " && ", name, options);
    }
  };
  bool const generic = would_be_generic(facts, question.driver);
  std::string own;
  add_word(own, "lro", facts.offloads.lro);
  if (generic) {
    add_word(own, "gro", facts.offloads.gro);
  }
  off(facts.name, own);
  if (generic) {
    std::string other;
    add_word(other, "tso", facts.peer.offloads.tso);
    add_word(other, "gso", facts.peer.offloads.gso);
    off(facts.peer.name, other);
  }
  if (here.empty()) {
    bool const unseen = generic && facts.peer.elsewhere;
    out.severity = unseen ? Severity::note : Severity::fine;
    out.found = unseen ? "tso and gso must be off at the other end, which is in another namespace"
                       : "none arrive";
    return out;
  }
  out.severity = Severity::breaks;
  out.found = here + ": frames longer than the MTU would be lost";
  out.mend = commands;
  return out;
}

Check tags_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  bool const stripped = facts.offloads.strips_tags.value_or(false);
  bool const lost = stripped && is_xdp(question.driver) && facts.driver != "veth";
  if (!lost) {
    return {"802.1Q tags", Severity::fine,
            stripped ? "stripped by the NIC, and restored" : "not stripped", ""};
  }
  return {"802.1Q tags", Severity::note,
          "stripped by the NIC and lost: matters only if tagged frames arrive",
          "ethtool -K " + facts.name + " rxvlan off"};
}

Check mtu_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  std::uint32_t const own = facts.interface.mtu.count;
  std::uint32_t const wanted = question.mtu == 0 ? own : question.mtu;
  std::uint32_t const most = hw::xdp_mtu_max.count;
  Check out{"MTU", Severity::fine, std::to_string(own), ""};
  if (wanted > most && is_xdp(question.driver)) {
    out.found += fmt::format(", but {} is requested and AF_XDP allows at most {}", wanted, most);
    out.mend = question.mtu == 0 ? fmt::format("ip link set dev {} mtu 1500", facts.name)
                                 : fmt::format("--mtu {}", std::min(own, most));
  } else if (wanted > own) {
    out.found += fmt::format(", but {} is requested", wanted);
    out.mend = fmt::format("ip link set dev {} mtu {}", facts.name, wanted);
  } else if (wanted < 1280) {
    out.severity = Severity::note;
    out.found += ": too small for IPv6 (1280)";
  }
  out.severity = out.mend.empty() ? out.severity : Severity::breaks;
  return out;
}

Check memory_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Bytes const mtu{question.mtu == 0 ? facts.interface.mtu.count : question.mtu};
  std::uint64_t const wanted = hw::xdp_memory_bytes(mtu) * question.shards;
  auto const limit = facts.memory.locked_bytes_max;
  if (!is_xdp(question.driver) || !limit || *limit >= wanted) {
    return {"locked memory", Severity::fine,
            limit ? fmt::format("{} KiB", *limit / 1024) : std::string("unlimited"), ""};
  }
  return {"locked memory", Severity::breaks,
          fmt::format("{} KiB allowed, but {} KiB are needed", *limit / 1024, wanted / 1024),
          "ulimit -l unlimited"};
}

Check pages_check(const DoctorFacts& facts, const DoctorQuestion&) {
  return {"hugepages", Severity::fine,
          fmt::format("{} free of {}; no driver of ours uses them", facts.memory.huge_pages_free,
                      facts.memory.huge_pages),
          ""};
}

Check address_check(const DoctorFacts& facts, const DoctorQuestion&) {
  if (!facts.address) {
    return {"address", Severity::note, "none given, so not checked",
            "give --address as for serve, like 10.9.0.2/24"};
  }
  std::string const text = text_of(facts.address->address);
  if (facts.wire_owner) {
    return {"address", Severity::breaks,
            fmt::format("the host {} on this wire has {}", text_of(*facts.wire_owner), text),
            "choose another --address, or give that host another one"};
  }
  if (!facts.clash) {
    return {"address", Severity::fine, text + " is not an address of the kernel", ""};
  }
  hw::KernelOwner const& owner = *facts.clash;
  return {"address", Severity::breaks,
          fmt::format("{} is an address of the kernel {}on {}: the kernel would answer too", text,
                      owner.is_route ? "by a local route " : "", owner.interface),
          fmt::format("ip {} {}/{} dev {}", owner.is_route ? "route del local" : "address del",
                      text_of(owner.first), owner.prefix_bits, owner.interface)};
}

Check neighbours_check(const DoctorFacts& facts, const DoctorQuestion&) {
  for (const KnownNeighbour& owner : facts.owners) {
    if (owner.mac != facts.interface.mac) {
      std::string const text = text_of(facts.address->address);
      return {
          "neighbours", Severity::breaks,
          fmt::format("the kernel's neighbour table has another machine for {} on {}", text,
                      owner.interface),
          fmt::format("ip neighbour del {} dev {}, if that entry is stale", text, owner.interface)};
    }
  }
  return {"neighbours", Severity::fine, fmt::format("{} in the kernel's table", facts.neighbours),
          ""};
}

Check forwarding_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  bool const v6 = facts.address && !facts.address->address.is_v4();
  if (!facts.forwards || is_xdp(question.driver)) {
    return {"forwarding", Severity::fine,
            facts.forwards ? "on, but the kernel gets none of the frames" : "off", ""};
  }
  return {"forwarding", Severity::breaks,
          "on: the kernel would forward our frames, and send ICMP unreachable to clients",
          fmt::format("sysctl -w net.{}.conf.{}.forwarding=0", v6 ? "ipv6" : "ipv4", facts.name)};
}

}  // namespace

std::string name_of(Severity severity) {
  switch (severity) {
    case Severity::fine:
      return "fine";
    case Severity::note:
      return "note";
    case Severity::breaks:
      break;
  }
  return "breaks";
}

std::vector<Check> judge(const DoctorFacts& facts, const DoctorQuestion& question) {
  using Judge = Check (*)(const DoctorFacts&, const DoctorQuestion&);
  constexpr Judge all[] = {interface_check, rights_check,     kernel_check,    xdp_check,
                           program_check,   queues_check,     checksums_check, segments_check,
                           tags_check,      mtu_check,        memory_check,    pages_check,
                           address_check,   neighbours_check, forwarding_check};
  std::vector<Check> checks;
  for (Judge const each : all) {
    checks.push_back(each(facts, question));
  }
  return checks;
}

}  // namespace lockstep::tools
