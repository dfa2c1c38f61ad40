// Builds the network with ip, nft and tc, and reads the counters from them and /proc.
#include "tools/verbs/testbed/topology.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hw/ethtool.hpp"
#include "hw/interface.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/testbed/counters.hpp"

namespace lockstep::tools {
namespace {

// Names of the ends' interface and of the box's two, which --rules can use.
constexpr const char* end_link = "link";
constexpr const char* box_client = "client";
constexpr const char* box_server = "server";
constexpr const char* box_bridge = "bridge";

[[noreturn]] void refuse(const std::string& message) {
  throw Failure(ExitCode::bad_input, message);
}

/// Text as a file that child processes can open.
class TextFile {
 public:
  explicit TextFile(const std::string& text) : file_(::memfd_create("rules", 0)) {
    if (::write(file_.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      throw Failure(ExitCode::environment, fmt::format("no memory: {}", std::strerror(errno)));
    }
  }
  std::string path() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_.number()); }

 private:
  hw::Descriptor file_;
};

void set_rules(const Netspace& where, const std::string& text) {
  TextFile const file(text);
  demand(where, {"nft", "-f", file.path()});
}

void set_number(const Netspace& where, const std::string& name, const std::string& number) {
  demand(where, {"sh", "-c", fmt::format("echo {} > /proc/sys/{}", number, name)});
}

/// Brings it up without IPv6 messages of its own, so that only the ends' frames are on the links.
void set_up(const Netspace& where, const std::string& interface) {
  set_number(where, fmt::format("net/ipv6/conf/{}/disable_ipv6", interface), "1");
  demand(where, {"ip", "link", "set", "dev", interface, "up"});
}

std::uint32_t part_of(const TestbedOptions& options) {
  auto const part = parse_probability(options.lose);
  if (!part) {
    refuse(
        fmt::format("--lose {}: expected a share like 1% or 0.001, at least 1e-9: "
                    "correct it",
                    options.lose));
  }
  return part->per_billion;
}

std::uint64_t rate_of(const TestbedOptions& options) {
  constexpr std::uint64_t least = 100'000, most = 100'000'000'000;
  auto const rate = parse_rate(options.rate);
  if (!rate || *rate < least || *rate > most) {
    refuse(fmt::format("--rate {}: expected 100kbit/s to 100Gbit/s: correct it", options.rate));
  }
  return *rate;
}

/// Refuses receive offloads (GRO, LRO): merged frames would count as one.
void refuse_merging(const std::string& interface) {
  hw::Offloads const offloads = hw::offloads_of(interface);
  if (offloads.gro.value_or(false) || offloads.lro.value_or(false)) {
    throw Failure(ExitCode::environment,
                  fmt::format("{}: the kernel merges frames there (GRO, LRO), which would count "
                              "as one: `ethtool -K {} gro off lro off`",
                              interface, interface));
  }
}

std::vector<Cause> since(std::vector<Cause> now, const std::vector<Cause>& before) {
  for (Cause& each : now) {
    auto const then = std::find_if(before.begin(), before.end(),
                                   [&](const Cause& old) { return old.name == each.name; });
    each.frames -= then == before.end() ? 0 : std::min(each.frames, then->frames);
  }
  return now;
}

/// The address and the next one.
std::vector<std::string> two_addresses(const std::string& option, const std::string& text) {
  auto const first = parse_address_and_prefix(text);
  if (!first || !first->address.is_v4()) {
    refuse(
        fmt::format("{} {}: expected an IPv4 address and its prefix, like 10.9.0.2/24: correct "
                    "it",
                    option, text));
  }
  IpAddress const next{first->address.high, first->address.low + 1};
  return {text, fmt::format("{}/{}", text_of(next), first->prefix_bits)};
}

/// The two interfaces of a pair must differ, and so must all addresses.
void refuse_twins(const TestbedOptions& options, const std::vector<std::string>& clients) {
  if (options.interfaces[0] == options.interfaces[1]) {
    refuse(fmt::format("--iface {}: given for both ends of the pair: give two interfaces",
                       options.interfaces[0]));
  }
  auto const server = parse_address_and_prefix(options.server);
  for (const std::string& client : clients) {
    auto const asks = parse_address_and_prefix(client);
    if (server && asks && server->address == asks->address) {
      refuse(
          fmt::format("--server {}: the client uses {} and the next address: choose "
                      "another",
                      options.server, options.client));
    }
  }
}

}  // namespace

Topology::Topology(const TestbedOptions& options) : own_(Netspace::own()) {
  if (options.box == "pair") {
    take_interfaces(options);
  } else {
    build(options);
  }
  before_ = causes();
}

void Topology::take_interfaces(const TestbedOptions& options) {
  if (options.interfaces.size() != 2 || options.client.empty() || options.server.empty()) {
    refuse("--box pair: it needs two interfaces: give --iface twice, --client and --server");
  }
  if (!options.rules.empty() || !options.lose.empty() || !options.rate.empty()) {
    refuse("--rules, --lose and --rate: they do not apply to --box pair: leave them out");
  }
  std::vector<std::string> const clients = two_addresses("--client", options.client);
  refuse_twins(options, clients);
  for (const std::string& each : options.interfaces) {
    hw::InterfaceFacts facts;
    if (auto const trouble = hw::look_at(each, facts)) {
      throw Failure(
          trouble.kind == hw::TroubleKind::bad_input ? ExitCode::bad_input : ExitCode::environment,
          "--iface: " + trouble.text);
    }
    if (!facts.up || !facts.ethernet) {
      refuse(
          fmt::format("--iface {}: expected an Ethernet interface that is up: `ip link set dev "
                      "{} up`, or name another",
                      each, each));
    }
    refuse_merging(each);
  }
  ends_[0] = {&own_, "client", options.interfaces[0], clients, options.client_gateway};
  ends_[1] = {&own_, "server", options.interfaces[1], {options.server}, options.server_gateway};
  // Runs in the user's namespace, which outlives us. First removes the remains of an earlier run.
  std::string const take_away = fmt::format("nft delete table netdev {} 2>/dev/null", table_name);
  run(own_, {"sh", "-c", take_away});
  tidy_up_ = std::make_unique<Afterwards>(take_away);
  set_rules(own_, counting_rules(options.interfaces));
  remainder_ = fmt::format("between {} and {}", ends_[0].interface, ends_[1].interface);
}

void Topology::build(const TestbedOptions& options) {
  if (!options.interfaces.empty() || !options.client.empty() || !options.server.empty() ||
      !options.client_gateway.empty() || !options.server_gateway.empty()) {
    refuse(
        "--iface, --client, --server and gateways: they apply to --box pair only: leave them out");
  }
  client_ = Netspace::make();
  box_ = Netspace::make();
  server_ = Netspace::make();
  bool const routed = options.box == "router";
  ends_[0] = {
      &*client_, "client", end_link, {"10.71.1.2/24", "10.71.1.3/24"}, routed ? "10.71.1.1" : ""};
  ends_[1] = {&*server_,
              "server",
              end_link,
              {routed ? "10.71.2.2/24" : "10.71.1.4/24"},
              routed ? "10.71.2.1" : ""};
  make_links(options);
  routed ? set_up_router() : set_up_bridge();
  load_rules(options);
  for (const End& end : ends_) {
    set_rules(*end.where, counting_rules({end.interface}));
  }
}

void Topology::make_links(const TestbedOptions& options) {
  std::string const mtu = std::to_string(options.mtu);
  for (const End& end : ends_) {
    std::string const& name = end.name;
    demand(*box_, {"ip", "link", "add", "dev", name, "mtu", mtu, "type", "veth", "peer", "name",
                   end_link, "mtu", mtu, "netns", end.where->path()});
    set_number(*end.where, "net/ipv4/ip_forward", "0");
    set_up(*end.where, end_link);
    set_up(*box_, name);
  }
}

void Topology::set_up_router() {
  demand(*box_, {"ip", "address", "add", "10.71.1.1/24", "dev", box_client});
  demand(*box_, {"ip", "address", "add", "10.71.2.1/24", "dev", box_server});
  set_number(*box_, "net/ipv4/ip_forward", "1");
}

void Topology::set_up_bridge() {
  demand(*box_, {"ip", "link", "add", "dev", box_bridge, "type", "bridge", "forward_delay", "0",
                 "mcast_snooping", "0"});
  for (const char* const each : {box_client, box_server}) {
    demand(*box_, {"ip", "link", "set", "dev", each, "master", box_bridge});
  }
  set_up(*box_, box_bridge);
}

void Topology::load_rules(const TestbedOptions& options) {
  if (!options.lose.empty()) {
    set_rules(*box_, losing_rules({box_client, box_server}, part_of(options)));
  }
  if (!options.rules.empty()) {
    if (::access(options.rules.c_str(), R_OK) != 0) {
      refuse(fmt::format("--rules {}: {}: name a file that can be read", options.rules,
                         std::strerror(errno)));
    }
    Said const said = run(*box_, {"nft", "-f", options.rules});
    if (said.code != 0) {
      refuse(fmt::format("--rules: {}: `nft -c -f {}` shows the line", said.errors, options.rules));
    }
  }
  if (!options.rate.empty()) {
    std::uint64_t const rate = rate_of(options);
    std::uint64_t const burst = std::max<std::uint64_t>(rate / 8 / 250, 16'384);
    for (const char* const each : {box_client, box_server}) {
      demand(*box_,
             {"tc", "qdisc", "add", "dev", each, "root", "tbf", "rate", fmt::format("{}bit", rate),
              "burst", fmt::format("{}", burst), "latency", "50ms"});
    }
  }
}

std::vector<Cause> Topology::causes() const {
  std::vector<Cause> out;
  auto const add = [&](std::vector<Cause> more) {
    std::move(more.begin(), more.end(), std::back_inserter(out));
  };
  for (const End& end : ends_) {
    for (Cause& each :
         link_causes(demand(*end.where, {"ip", "-s", "-j", "link", "show", "dev", end.interface}),
                     end.name, LinkDirections::outwards)) {
      out.push_back(std::move(each));
    }
  }
  if (box_) {
    add(rule_causes(demand(*box_, {"nft", "-j", "list", "ruleset"})));
    add(queue_causes(demand(*box_, {"tc", "-s", "-j", "qdisc"}), "box"));
    add(link_causes(demand(*box_, {"ip", "-s", "-j", "link"}), "box", LinkDirections::both));
    add(internet_causes(demand(*box_, {"cat", "/proc/self/net/snmp", "/proc/self/net/netstat"})));
  }
  return out;
}

Tally Topology::tally(std::size_t end, bool offered) const {
  std::string const shown =
      demand(*ends_[end].where, {"nft", "-j", "list", "table", "netdev", table_name});
  return offered ? offered_of(shown, ends_[end].interface)
                 : delivered_of(shown, ends_[end].interface);
}

Counted Topology::count() const {
  Counted out;
  // Reads received counts first, so that frames in flight can only look lost, never injected.
  Tally at_server = tally(1, false);
  Tally at_client = tally(0, false);
  out.causes = since(causes(), before_);
  out.directions.push_back({"to the server", tally(0, true), std::move(at_server)});
  out.directions.push_back({"to the client", tally(1, true), std::move(at_client)});
  out.remainder = remainder_;
  return out;
}

}  // namespace lockstep::tools
