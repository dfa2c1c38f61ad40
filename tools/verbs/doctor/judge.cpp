// One function a line of the table.
#include "tools/verbs/doctor/judge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hw/af_xdp/setup.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

// linux/netdev.h of kernel 6.3 and later.
constexpr std::uint64_t feature_basic = 1;
constexpr std::uint64_t feature_redirect = 2;
constexpr std::uint64_t feature_zero_copy = 8;

bool is_xdp(DriverKind driver) { return driver != DriverKind::packet; }

bool is_native_known(const DoctorFacts& facts) {
  constexpr std::uint64_t wanted = feature_basic | feature_redirect;
  return facts.xdp.features && (*facts.xdp.features & wanted) == wanted;
}

/// Whether the program would run behind the driver, as far as is known.
bool would_be_generic(const DoctorFacts& facts, DriverKind driver) {
  return driver == DriverKind::xdp_generic ||
         (driver == DriverKind::xdp && facts.xdp.features && !is_native_known(facts));
}

Check interface_check(const DoctorFacts& facts, const DoctorQuestion&) {
  Check out{"interface", Verdict::fine, "", ""};
  out.found = fmt::format("{}{}{}", facts.driver.empty() ? "driver unknown" : facts.driver,
                          facts.interface.up ? ", up" : ", down",
                          !facts.carrier && facts.interface.up ? ", no carrier" : "");
  if (!facts.interface.ethernet) {
    out.found += ", no Ethernet frames";
    out.mend = "choose another: `ip -br link` lists those that are";
  } else if (!facts.interface.up) {
    out.mend = "ip link set dev " + facts.name + " up";
  } else if (!facts.carrier) {
    out.mend = facts.peer.name.empty() ? "set the other end up"
                                       : "ip link set dev " + facts.peer.name + " up";
  }
  out.verdict = out.mend.empty() ? Verdict::fine : Verdict::breaks;
  return out;
}

std::string give_rights(const DoctorFacts& facts, const std::string& rights) {
  return fmt::format("setcap {} {}, or run as root", rights, facts.program_path);
}

Check rights_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Ways const& ways = facts.ways;
  auto const lacks = [](int error) { return error == EPERM || error == EACCES; };
  if (!is_xdp(question.driver)) {
    if (lacks(ways.packet_socket)) {
      return {"rights", Verdict::breaks, "no packet socket may be opened",
              give_rights(facts, "cap_net_raw+ep")};
    }
    return {"rights", Verdict::fine, "packet sockets", ""};
  }
  if (lacks(ways.xdp_socket) || lacks(ways.bpf)) {
    bool const root_here = !lacks(ways.xdp_socket) && facts.in_user_namespace;
    return {"rights", Verdict::breaks,
            lacks(ways.xdp_socket) ? "no AF_XDP socket may be opened" : "bpf(2) is not allowed",
            root_here ? "run as root outside of this user namespace"
                      : give_rights(facts, "cap_net_raw,cap_net_admin,cap_bpf+ep")};
  }
  return {"rights", Verdict::fine, "AF_XDP sockets, bpf(2)", ""};
}

Check kernel_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Ways const& ways = facts.ways;
  if (!is_xdp(question.driver)) {
    bool const none = ways.packet_socket == EAFNOSUPPORT;
    return none ? Check{"kernel", Verdict::breaks, "no packet sockets",
                        "run a kernel with CONFIG_PACKET"}
                : Check{"kernel", Verdict::fine, "packet sockets", ""};
  }
  if (ways.xdp_socket == EAFNOSUPPORT) {
    return {"kernel", Verdict::breaks, "no AF_XDP",
            "run a kernel with CONFIG_XDP_SOCKETS, or --driver packet"};
  }
  if (ways.bpf == ENOSYS || ways.bpf == EINVAL) {
    return {"kernel", Verdict::breaks, "no map of AF_XDP sockets",
            "run a kernel with CONFIG_BPF_SYSCALL and CONFIG_XDP_SOCKETS, or --driver packet"};
  }
  return {"kernel", Verdict::fine, "AF_XDP", ""};
}

Check xdp_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Check out{"XDP in the driver", Verdict::fine, "", ""};
  if (!facts.xdp.features) {
    out.found = "unknown: kernels before 6.3 do not say";
    out.verdict = is_xdp(question.driver) ? Verdict::note : Verdict::fine;
    return out;
  }
  bool const zero_copy = (*facts.xdp.features & feature_zero_copy) != 0;
  bool const native = is_native_known(facts);
  out.found = native ? (zero_copy ? "native, zero-copy" : "native, copied") : "none: generic only";
  bool const wants_native =
      question.driver == DriverKind::xdp_native || question.driver == DriverKind::xdp_zero_copy;
  if (!native && wants_native) {
    out.verdict = Verdict::breaks;
    out.mend = "--driver xdp-generic, or --driver packet";
  } else if (!zero_copy && question.driver == DriverKind::xdp_zero_copy) {
    out.verdict = Verdict::breaks;
    out.mend = "--driver xdp, which copies";
  } else if (!native && question.driver == DriverKind::xdp) {
    out.verdict = Verdict::note;
  }
  return out;
}

Check program_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  if (facts.xdp.program == 0) {
    return {"XDP program", Verdict::fine, "none", ""};
  }
  bool const ours = is_xdp(question.driver);
  return {"XDP program", ours ? Verdict::breaks : Verdict::note,
          fmt::format("number {} is attached{}", facts.xdp.program,
                      ours ? "" : ": it sees frames first"),
          ours ? fmt::format("end its program, or: ip link set dev {} {} off", facts.name,
                             facts.xdp.generic ? "xdpgeneric" : "xdp")
               : ""};
}

/// AF_XDP hears one queue a shard: frames in any other would be lost.
Check queues_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Check out{"queues and RSS", Verdict::fine, "one: the driver has none to set", ""};
  std::uint32_t const count = facts.channels ? std::max(1u, facts.channels->arriving()) : 1;
  if (facts.channels) {
    out.found = count == 1 ? "one queue: nothing is spread"
                           : fmt::format("RSS spreads frames over {} queues", count);
  }
  if (is_xdp(question.driver) && count != question.shards) {
    out.verdict = Verdict::breaks;
    out.found += question.shards == 1 ? "" : fmt::format(", for {} shards", question.shards);
    out.mend = facts.channels
                   ? fmt::format("ethtool -L {} {} {}", facts.name,
                                 facts.channels->combined != 0 ? "combined" : "rx", question.shards)
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
  Check out{"checksums", Verdict::fine, "", ""};
  bool const peer = facts.peer.offloads.send_checksum.value_or(false);
  if (!is_xdp(question.driver)) {
    out.found = "the kernel says which are left out";
  } else if (facts.driver == "veth") {
    out.found = facts.peer.elsewhere ? "the other end is in another namespace: what it leaves out "
                                       "is seen"
                : peer               ? facts.peer.name + " leaves them out, which is seen"
                                     : "the other end sends them";
  } else {
    out.found = "every one is verified";
  }
  return out;
}

/// Frames longer than the MTU: of several segments, put together or not yet cut.
Check segments_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Check out{"long frames", Verdict::fine, "", ""};
  if (!is_xdp(question.driver)) {
    std::string merged;
    add_word(merged, "gro", facts.offloads.gro);
    add_word(merged, "lro", facts.offloads.lro);
    out.found = merged.empty() ? "none are put together" : merged + " on: taken apart again";
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
    out.verdict = unseen ? Verdict::note : Verdict::fine;
    out.found =
        unseen ? "tso and gso have to be off at the other end, in another namespace" : "none come";
    return out;
  }
  out.verdict = Verdict::breaks;
  out.found = here + ": such frames would be lost";
  out.mend = commands;
  return out;
}

Check tags_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  bool const stripped = facts.offloads.strips_tags.value_or(false);
  bool const lost = stripped && is_xdp(question.driver) && facts.driver != "veth";
  if (!lost) {
    return {"802.1Q tags", Verdict::fine, stripped ? "taken off, and put back" : "left on", ""};
  }
  return {"802.1Q tags", Verdict::note, "taken off by the driver: only if there are such frames",
          "ethtool -K " + facts.name + " rxvlan off"};
}

Check mtu_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  std::uint32_t const own = facts.interface.mtu.count;
  std::uint32_t const wanted = question.mtu == 0 ? own : question.mtu;
  std::uint32_t const most = hw::xdp_mtu_max.count;
  Check out{"MTU", Verdict::fine, std::to_string(own), ""};
  if (wanted > most && is_xdp(question.driver)) {
    out.found += fmt::format(", {} is asked for, and {} is the most here", wanted, most);
    out.mend = question.mtu == 0 ? fmt::format("ip link set dev {} mtu 1500", facts.name)
                                 : fmt::format("--mtu {}", std::min(own, most));
  } else if (wanted > own) {
    out.found += fmt::format(", and {} is asked for", wanted);
    out.mend = fmt::format("ip link set dev {} mtu {}", facts.name, wanted);
  } else if (wanted < 1280) {
    out.verdict = Verdict::note;
    out.found += ": too little for IPv6";
  }
  out.verdict = out.mend.empty() ? out.verdict : Verdict::breaks;
  return out;
}

Check memory_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  Bytes const mtu{question.mtu == 0 ? facts.interface.mtu.count : question.mtu};
  std::uint64_t const wanted = hw::xdp_memory_bytes(mtu) * question.shards;
  auto const limit = facts.memory.locked_bytes_max;
  if (!is_xdp(question.driver) || !limit || *limit >= wanted) {
    return {"locked memory", Verdict::fine,
            limit ? fmt::format("{} KiB", *limit / 1024) : std::string("as much as there is"), ""};
  }
  return {"locked memory", Verdict::breaks,
          fmt::format("{} KiB, and {} KiB are needed", *limit / 1024, wanted / 1024),
          "ulimit -l unlimited"};
}

Check pages_check(const DoctorFacts& facts, const DoctorQuestion&) {
  return {"hugepages", Verdict::fine,
          fmt::format("{} free of {}; no driver here needs any", facts.memory.huge_pages_free,
                      facts.memory.huge_pages),
          ""};
}

Check address_check(const DoctorFacts& facts, const DoctorQuestion&) {
  if (!facts.address) {
    return {"address", Verdict::note, "none was given", "--address 10.9.0.2/24, as serve is told"};
  }
  std::string const text = text_of(facts.address->address);
  if (!facts.clash) {
    return {"address", Verdict::fine, text + " is no one's in the kernel", ""};
  }
  hw::KernelOwner const& owner = *facts.clash;
  return {"address", Verdict::breaks,
          fmt::format("{} is the kernel's {}on {}: it would answer for us", text,
                      owner.is_route ? "by a local route " : "", owner.interface),
          fmt::format("ip {} {}/{} dev {}", owner.is_route ? "route del local" : "address del",
                      text_of(owner.first), owner.prefix_bits, owner.interface)};
}

Check neighbours_check(const DoctorFacts& facts, const DoctorQuestion&) {
  for (const KnownNeighbour& owner : facts.owners) {
    if (owner.mac != facts.interface.mac) {
      std::string const text = text_of(facts.address->address);
      return {"neighbours", Verdict::breaks,
              fmt::format("the kernel takes another machine for {} on {}", text, owner.interface),
              fmt::format("ip neighbour del {} dev {}, if that is over", text, owner.interface)};
    }
  }
  return {"neighbours", Verdict::fine, fmt::format("{} known to the kernel", facts.neighbours), ""};
}

Check forwarding_check(const DoctorFacts& facts, const DoctorQuestion& question) {
  bool const v6 = facts.address && !facts.address->address.is_v4();
  if (!facts.forwards || is_xdp(question.driver)) {
    return {"forwarding", Verdict::fine,
            facts.forwards ? "on: the kernel sees none of the frames" : "off", ""};
  }
  return {"forwarding", Verdict::breaks,
          "on: the kernel would send our frames on, and tell clients that we are not there",
          fmt::format("sysctl -w net.{}.conf.{}.forwarding=0", v6 ? "ipv6" : "ipv4", facts.name)};
}

}  // namespace

std::string name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::fine:
      return "fine";
    case Verdict::note:
      return "note";
    case Verdict::breaks:
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
