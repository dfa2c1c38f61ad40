// Reads texts NAME=VALUE in any order: first the profile, then its fields, then the rest.
#include "tools/lib/host/plan.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stack/config_fields.hpp"
#include "core/units/random.hpp"
#include "hw/interface.hpp"
#include "tools/base/parse/parse.hpp"
#include "tools/lib/host/rules.hpp"

namespace lockstep::tools {
namespace {

struct Given {
  std::string name;
  std::string value;
  std::string whole() const { return name + "=" + value; }
};
using AllGiven = std::vector<Given>;

constexpr std::array<std::string_view, 14> own_names{
    "address", "connections", "driver", "gateway", "grace", "host", "iface",
    "link",    "mac",         "mtu",    "profile", "seed",  "spin", "tap"};
constexpr std::array<std::string_view, 2> repeated{"address", "host"};
constexpr std::array<std::string_view, 4> of_interfaces{"driver", "host", "iface", "tap"};
constexpr std::array<std::string_view, 2> of_drivers{"link", "mac"};

template <std::size_t n>
bool is_in(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void refuse_option(const Given& given, const std::string& why) {
  throw HostRefused(given.whole() + ": " + why);
}

AllGiven split(const char* const* options) {
  AllGiven out;
  for (; options != nullptr && *options != nullptr; ++options) {
    std::string_view const text(*options);
    std::size_t const sign = text.find('=');
    if (sign == std::string_view::npos || sign == 0) {
      throw HostRefused("option '" + std::string(text) +
                        "': expected NAME=VALUE, like tap=lock0: correct it");
    }
    Given given{std::string(text.substr(0, sign)), std::string(text.substr(sign + 1))};
    bool const twice = std::any_of(out.begin(), out.end(),
                                   [&](const Given& each) { return each.name == given.name; });
    if (twice && !is_in(repeated, given.name)) {
      refuse_option(given, given.name + " was given before: leave one of them out");
    }
    out.push_back(std::move(given));
  }
  return out;
}

const Given* find(const AllGiven& all, std::string_view name) {
  auto const found =
      std::find_if(all.begin(), all.end(), [&](const Given& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

/// A number in decimal within a range.
std::uint64_t number_in(const Given& given, FieldRange range) {
  auto const number = parse_seed(given.value);
  if (!number || *number < range.least || *number > range.most) {
    refuse_option(given, "expected a number from " + std::to_string(range.least) + " to " +
                             std::to_string(range.most) + ": correct it");
  }
  return *number;
}

Duration duration_in(const Given& given) {
  auto const duration = parse_duration(given.value);
  if (!duration) {
    refuse_option(given, "expected a time with a unit, like 50us or 5s: correct it");
  }
  return *duration;
}

/// The number that a field of Config gets.
std::uint64_t field_number(const Given& given, Unit unit, FieldRange range) {
  if (unit != Unit::duration) {
    return number_in(given, range);
  }
  std::uint64_t const ns = duration_in(given).ns;
  if (ns < range.least || ns > range.most) {
    refuse_option(given, "expected a time from " + std::to_string(range.least) + "ns to " +
                             std::to_string(range.most) + "ns: correct it");
  }
  return ns;
}

void set_number(Count& field, std::uint64_t to) { field.value = static_cast<std::uint32_t>(to); }
void set_number(Bytes& field, std::uint64_t to) { field.count = static_cast<std::uint32_t>(to); }
void set_number(Duration& field, std::uint64_t to) { field.ns = to; }
void set_number(Sequence& field, std::uint64_t to) { field.value = static_cast<std::uint32_t>(to); }
void set_number(Port& field, std::uint64_t to) { field.value = static_cast<std::uint16_t>(to); }
void set_number(bool& field, std::uint64_t to) { field = to != 0; }
void set_number(std::uint8_t& field, std::uint64_t to) { field = static_cast<std::uint8_t>(to); }

template <class Names, class Enum>
void set_choice(const Given& given, const Names& names, Enum& field) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == given.value) {
      field = static_cast<Enum>(i);
      return;
    }
    list += (list.empty() ? "" : ", ") + std::string(names[i]);
  }
  refuse_option(given, "expected one of " + list + ": choose one");
}

/// Whether the name is that of a field of Config, which is then set.
bool read_field(const Given& given, Config& config) {
  bool known = false;
  visit_fields(config, [&](std::string_view name, Unit unit, FieldRange range, auto& field) {
    if (name == given.name) {
      known = true;
      set_number(field, field_number(given, unit, range));
    }
  });
  visit_choices(config, [&](std::string_view name, const auto& names, auto& field) {
    if (name == given.name) {
      known = true;
      set_choice(given, names, field);
    }
  });
  return known;
}

void read_fields(const AllGiven& all, Config& config) {
  constexpr std::array<std::string_view, 3> elsewhere{"mtu_bytes", "shards", "shard"};
  for (const Given& given : all) {
    bool const own = is_in(own_names, given.name);
    if (is_in(elsewhere, given.name)) {
      refuse_option(given, given.name == "mtu_bytes" ? "give mtu instead" : "a host is one stack");
    }
    if (!own && !read_field(given, config)) {
      std::string list;
      for (std::string_view const each : own_names) {
        list += std::string(each) + ", ";
      }
      refuse_option(given, "there is no option " + given.name + ": there are " + list +
                               "and the fields of Config (core/stack/README.md)");
    }
  }
}

HostAddress address_with_prefix(const Given& given) {
  auto const found = parse_address_and_prefix(given.value);
  if (!found) {
    refuse_option(given,
                  "expected an address and its prefix, like 10.9.0.2/24 or 2001:db8::2/64: "
                  "correct it");
  }
  return {found->address, found->prefix_bits};
}

/// The first of our addresses that `fits`, or nullptr.
template <class Fits>
const HostAddress* our_address(const Config& config, Fits fits) {
  auto const end = config.addresses.begin() + config.address_count.value;
  auto const found = std::find_if(config.addresses.begin(), end, fits);
  return found == end ? nullptr : &*found;
}

void add_address(const Given& given, HostPlan& plan) {
  Config& config = plan.config;
  HostAddress const ours = address_with_prefix(given);
  if (config.address_count.value == Config::addresses_max) {
    refuse_option(given, "a host has at most " + std::to_string(Config::addresses_max) +
                             " addresses: leave some out");
  }
  if (auto const why = unfit_address(ours); !why.empty()) {
    refuse_option(given, std::string(why) + ": choose a host's address");
  }
  if (plan.port != HostPort::table) {
    if (auto const clash = hw::refuse_kernel_address(ours.address)) {
      refuse_option(given, clash.text);
    }
  }
  config.addresses[config.address_count.value] = ours;
  ++config.address_count.value;
  plan.addresses += (plan.addresses.empty() ? "" : ", ") + given.value;
}

void add_kernel_address(const Given& given, HostPlan& plan) {
  HostAddress const kernel = address_with_prefix(given);
  if (plan.port != HostPort::tap) {
    refuse_option(given,
                  "it applies to a TAP: give an existing interface its address with "
                  "`ip address add`");
  }
  auto const same = [&](const HostAddress& each) { return each.address == kernel.address; };
  if (our_address(plan.config, same) != nullptr) {
    refuse_option(given, "it is also an address, and both would answer: choose another");
  }
  auto const near = [&](const HostAddress& each) { return same_network(each, kernel.address); };
  if (our_address(plan.config, near) == nullptr) {
    refuse_option(given, "no address is in its network: choose one in the network of an address");
  }
  plan.tap.hosts.push_back(kernel);
}

void read_gateway(const Given& given, Config& config) {
  auto const gateway = parse_address(given.value);
  auto const near = [&](const HostAddress& each) { return same_network(each, *gateway); };
  if (!gateway || !gateway->is_v4() || our_address(config, near) == nullptr) {
    refuse_option(given, "expected an IPv4 address in the network of an address: correct it");
  }
  auto const same = [&](const HostAddress& each) { return each.address == *gateway; };
  if (our_address(config, same) != nullptr) {
    refuse_option(given, "it is our own address: give the router's");
  }
  config.gateway = *gateway;
}

void read_addresses(const AllGiven& all, HostPlan& plan) {
  for (const Given& given : all) {
    if (given.name == "address") {
      add_address(given, plan);
    }
  }
  if (plan.config.address_count.value == 0) {
    throw HostRefused("no address was given: add one, like address=10.9.0.2/24");
  }
  for (const Given& given : all) {
    if (given.name == "host") {
      add_kernel_address(given, plan);
    }
    if (given.name == "gateway") {
      read_gateway(given, plan.config);
    }
  }
}

void read_driver(const Given* driver, HostPlan& plan) {
  std::string const name = driver == nullptr ? "packet" : driver->value;
  plan.port = name == "packet" ? HostPort::packet : HostPort::xdp;
  if (name == "xdp-native" || name == "xdp-zero-copy") {
    plan.place = hw::XdpPlace::native;
    plan.must_be_zero_copy = name == "xdp-zero-copy";
  } else if (name == "xdp-generic") {
    plan.place = hw::XdpPlace::generic;
  } else if (name != "packet" && name != "xdp") {
    refuse_option(*driver,
                  "expected packet, xdp, xdp-native, xdp-generic or xdp-zero-copy: choose one");
  }
}

/// Which interface; refuses names that do not fit it.
void read_place(const AllGiven& all, HostKind kind, HostPlan& plan) {
  const Given* const tap = find(all, "tap");
  const Given* const interface = find(all, "iface");
  for (const Given& given : all) {
    if (kind == HostKind::driver && is_in(of_interfaces, given.name)) {
      refuse_option(given, "the interface is the table of functions: leave it out");
    }
    if (kind == HostKind::interface && is_in(of_drivers, given.name)) {
      refuse_option(given, "it applies to a driver of your own: leave it out");
    }
  }
  if (kind == HostKind::driver) {
    return;
  }
  if ((tap == nullptr) == (interface == nullptr)) {
    throw HostRefused(tap == nullptr ? "no interface was given: add tap=NAME for a TAP, or "
                                       "iface=NAME for one that exists"
                                     : tap->whole() + ": iface was given as well: choose one");
  }
  plan.interface = tap != nullptr ? tap->value : interface->value;
  if (tap != nullptr) {
    plan.port = HostPort::tap;
    plan.tap.name = tap->value;
    if (const Given* const driver = find(all, "driver")) {
      refuse_option(*driver, "it does not apply to a TAP: give iface");
    }
    return;
  }
  read_driver(find(all, "driver"), plan);
}

/// The MTU that was given, or that of the interface; and the interface's link address.
Bytes read_mtu(const AllGiven& all, HostPlan& plan) {
  const Given* const given = find(all, "mtu");
  Bytes most{interface_mtu_max};
  Bytes usual{1500};
  if (plan.port == HostPort::packet || plan.port == HostPort::xdp) {
    hw::InterfaceFacts facts;
    if (auto const trouble = hw::look_at(plan.interface, facts)) {
      throw HostRefused("iface=" + plan.interface + ": " + trouble.text);
    }
    plan.config.mac = facts.mac;
    usual = most = Bytes{std::min(facts.mtu.count, interface_mtu_max)};
  }
  if (given == nullptr) {
    return usual;
  }
  return Bytes{static_cast<std::uint32_t>(number_in(*given, {68, most.count}))};
}

void read_link(const AllGiven& all, Config& config) {
  if (const Given* const link = find(all, "link")) {
    set_choice(*link, std::array<std::string_view, 2>{"ethernet", "ip"}, config.link);
  }
  if (const Given* const given = find(all, "mac")) {
    auto const mac = parse_mac(given->value);
    if (!mac || mac->is_group() || *mac == Mac{}) {
      refuse_option(*given,
                    "expected a link address of one host, like 02:00:00:00:00:01: "
                    "correct it");
    }
    config.mac = *mac;
  }
}

void read_keys(const AllGiven& all, HostPlan& plan) {
  std::optional<std::uint64_t> seed;
  if (const Given* const given = find(all, "seed")) {
    // Two hosts with one seed have other addresses, and so other keys and link addresses.
    seed = Random(number_in(*given, {})).fork(plan.addresses).next();
  }
  if (!draw_secrets(seed, plan.config)) {
    throw HostRefused("the system's random numbers cannot be read: allow getrandom(2)");
  }
}

}  // namespace

HostPlan host_plan_of(const char* const* options, HostKind kind) {
  constexpr std::uint64_t connections_most = 1'000'000;
  AllGiven const all = split(options);
  HostPlan plan;
  if (const Given* const given = find(all, "profile")) {
    auto const profile = profile_by_name(given->value);
    if (!profile) {
      refuse_option(*given, "expected default, rfc, linux or freebsd: choose one");
    }
    plan.config = *profile;
  }
  plan.config.address_count = Count{0};
  read_place(all, kind, plan);
  if (kind == HostKind::driver) {
    plan.loop.spin = Duration{};  // a virtual clock stands still meanwhile
  }
  read_link(all, plan.config);
  set_mtu(plan.config, read_mtu(all, plan));
  plan.tap.mtu = plan.config.mtu;
  const Given* const connections = find(all, "connections");
  size_pools(plan.config.tcp,
             Count{static_cast<std::uint32_t>(
                 connections == nullptr ? 1024 : number_in(*connections, {1, connections_most}))});
  read_fields(all, plan.config);
  read_addresses(all, plan);
  if (const Given* const given = find(all, "spin")) {
    plan.loop.spin = duration_in(*given);
  }
  if (const Given* const given = find(all, "grace")) {
    plan.loop.grace = duration_in(*given);
  }
  read_keys(all, plan);
  if (auto const fault = fault_of(plan.config); !fault.empty()) {
    throw HostRefused("the options do not fit each other: " + std::string(fault));
  }
  return plan;
}

}  // namespace lockstep::tools
