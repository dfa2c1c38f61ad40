// Reads hosts, switches, adversaries and links from their tables.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "core/stack/config_fields.hpp"
#include "core/units/random.hpp"
#include "tools/base/text/suggestion.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/world_file/reader.hpp"

namespace lockstep::tools {
namespace {

constexpr std::string_view expected_duration = "a time with a unit, like \"10ms\"";
constexpr std::string_view expected_bytes = "a size with a unit, like \"64KiB\"";

Config profile_named(Table& table) {
  return table.parsed("profile", Config{}, profile_by_name, "default, rfc, linux or freebsd");
}

std::uint64_t read_field(Table& table, std::string_view name, Unit unit, std::uint64_t otherwise) {
  constexpr auto most = static_cast<std::uint64_t>(INT64_MAX);
  switch (unit) {
    case Unit::duration:
      return read_duration(table, name, Duration{otherwise}).ns;
    case Unit::bytes:
      return read_bytes(table, name, otherwise);
    case Unit::boolean:
      return table.boolean(name, otherwise != 0) ? 1 : 0;
    case Unit::count:
    case Unit::octet:
    case Unit::sequence:
    case Unit::port:
      break;
  }
  return table.number(name, otherwise, {0, most});
}

// Reads and writes one field of Config as a number.
void set_field(Count& field, std::uint64_t value) {
  field.value = static_cast<std::uint32_t>(value);
}
void set_field(Bytes& field, std::uint64_t value) {
  field.count = static_cast<std::uint32_t>(value);
}
void set_field(Duration& field, std::uint64_t value) { field.ns = value; }
void set_field(bool& field, std::uint64_t value) { field = value != 0; }
void set_field(std::uint8_t& field, std::uint64_t value) {
  field = static_cast<std::uint8_t>(value);
}
void set_field(Sequence& field, std::uint64_t value) {
  field.value = static_cast<std::uint32_t>(value);
}
void set_field(Port& field, std::uint64_t value) {
  field.value = static_cast<std::uint16_t>(value);
}

}  // namespace

void read_config(Table& table, Config& config) {
  visit_fields(config, [&](std::string_view name, Unit unit, FieldRange range, auto& field) {
    if (!table.has(name)) {
      read_field(table, name, unit, 0);  // marks it as known, so that end() suggests it
      return;
    }
    const std::uint64_t value = read_field(table, name, unit, 0);
    if (value < range.least || value > range.most) {
      const auto shown = [unit](std::uint64_t number) {
        return unit == Unit::duration ? text_of(Duration{number}) : fmt::format("{}", number);
      };
      table.wrong(name, fmt::format("{} was found, expected {} to {}", shown(value),
                                    shown(range.least), shown(range.most)));
    }
    set_field(field, value);
  });
  visit_choices(config, [&](std::string_view name, auto words, auto& field) {
    using Choice = std::remove_reference_t<decltype(field)>;
    field = static_cast<Choice>(table.parsed(
        name, static_cast<std::uint32_t>(field),
        [&](const std::string& text) -> std::optional<std::uint32_t> {
          for (std::uint32_t i = 0; i < words.size(); ++i) {
            if (words[i] == text) {
              return i;
            }
          }
          return std::nullopt;
        },
        fmt::format("one of {}", fmt::join(words, ", "))));
  });
  table.end();
}

namespace {

void read_clock(Table& table, sim::ClockSpec& clock) {
  clock.origin = read_duration(table, "clock_origin", {});
  const std::int64_t skew = table.signed_number("clock_skew_ppb", 0);
  if (skew > sim::ClockSpec::skew_ppb_max || skew < -sim::ClockSpec::skew_ppb_max) {
    table.wrong("clock_skew_ppb", "expected -500000000 to 500000000");
  }
  clock.skew_ppb = static_cast<std::int32_t>(skew);
}

void read_lane(Table& table, sim::LaneSpec& lane) {
  lane.rate_bits_per_second =
      table.parsed("rate", lane.rate_bits_per_second, parse_rate, "a rate, like \"10Mbit/s\"");
  lane.delay = read_duration(table, "delay", lane.delay);
  lane.queue_bytes = read_bytes(table, "queue", lane.queue_bytes);
  lane.queue_packets =
      static_cast<std::uint32_t>(table.number("queue_packets", lane.queue_packets, {0, 1'000'000}));
  lane.mark_packets =
      static_cast<std::uint32_t>(table.number("mark_packets", lane.mark_packets, {0, 1'000'000}));
  lane.overhead_bytes =
      static_cast<std::uint32_t>(table.number("overhead", lane.overhead_bytes, {0, 1'000}));
  lane.mtu_bytes = static_cast<std::uint32_t>(table.number("mtu", lane.mtu_bytes, {68, 65'535}));
  lane.answers_too_big = table.boolean("answers_too_big", lane.answers_too_big);
  read_output(table, lane);
}

}  // namespace

sim::NodeRef node_named(Table& table, std::string_view key, const WorldInProgress& in) {
  const std::string name = table.text(key);
  const auto found = in.nodes.find(name);
  if (found == in.nodes.end()) {
    std::vector<std::string> names;
    for (const auto& [each, node] : in.nodes) {
      names.push_back(each);
    }
    table.wrong(
        key, fmt::format("there is no host, switch, router or random_peer '{}'{}, expected one of: "
                         "{}; name one of these or add it",
                         name, suggestion(name, names), fmt::join(names, ", ")));
  }
  return found->second;
}

void add_node(Table& table, sim::Name name, sim::NodeRef node, WorldInProgress& into) {
  if (!into.nodes.emplace(std::string(name.view()), node).second) {
    table.wrong("name", fmt::format("'{}' is taken, expected a new name", name.view()));
  }
}

void claim_address(Table& table, IpAddress address, sim::Name owner, WorldInProgress& into) {
  const auto [at, is_new] = into.addresses.emplace(text_of(address), owner.view());
  if (!is_new) {
    table.wrong("address", fmt::format("{} is the address of '{}', expected one of its own",
                                       at->first, at->second));
  }
}

Duration read_duration(Table& table, std::string_view key, Duration otherwise) {
  return table.parsed(key, otherwise, parse_duration, expected_duration);
}

std::uint64_t read_bytes(Table& table, std::string_view key, std::uint64_t otherwise) {
  return table.parsed(key, otherwise, parse_bytes, expected_bytes);
}

sim::Name read_name(Table& table, const std::string& kind) {
  const std::string name = table.text("name");
  if (name.empty() || name.size() > sim::Name::length_max) {
    table.wrong("name", fmt::format("expected 1 to {} letters", sim::Name::length_max));
  }
  // A captured host's name becomes a file name.
  if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
      std::string::npos) {
    table.wrong("name", "expected letters, digits, '-' and '_' only");
  }
  table.set_title(fmt::format("{} '{}'", kind, name));
  return sim::Name(name);
}

sim::HostIndex host_named(Table& table, std::string_view key, const WorldInProgress& in) {
  const sim::NodeRef node = node_named(table, key, in);
  if (node.kind != sim::NodeKind::host) {
    table.wrong(key, "expected a host with our stack, not a device, a switch or a random_peer");
  }
  return {node.index};
}

AddressAndPrefix read_address(Table& table) {
  const auto out = table.parsed("address", AddressAndPrefix{}, parse_address_and_prefix,
                                "an address with a prefix length, like \"10.0.0.1/24\" or "
                                "\"2001:db8::1/64\"");
  if (out.address.is_unspecified()) {
    table.wrong(
        fmt::format("{} lacks the key 'address': add one, like \"10.0.0.1/24\"", table.title()));
  }
  return out;
}

void read_host(Table& table, WorldInProgress& into) {
  if (table.has("device")) {
    read_device_host(table, into);
    return;
  }
  sim::HostSpec host;
  host.name = read_name(table, "host");
  host.config = profile_named(table);
  const AddressAndPrefix address = read_address(table);
  host.config.addresses[0] = {address.address, address.prefix_bits};
  host.config.address_count = {1};
  const auto gateway = table.parsed("gateway", IpAddress{}, parse_address,
                                    "an address, like \"10.0.0.254\" or \"fe80::1\"");
  if (gateway.is_v4() || gateway.is_unspecified()) {
    host.config.gateway = gateway;
  } else {
    host.config.routes[0] = {IpAddress{}, gateway, 0};
    host.config.route_count = {1};
  }
  host.config.vlan = static_cast<std::uint16_t>(table.number("vlan", 0, {0, 4'094}));
  host.config.mac = table.parsed("mac", Mac{}, parse_mac, "like \"02:00:00:00:00:01\"");
  const std::string link = table.text("link", "ethernet");
  if (link != "ethernet" && link != "ip") {
    table.wrong("link", "\"" + link + "\" was found, expected ethernet or ip");
  }
  host.config.link = link == "ip" ? LinkType::ip : LinkType::ethernet;
  read_clock(table, host.clock);
  host.poll = read_duration(table, "poll", {});
  host.transmit_ring =
      static_cast<std::uint32_t>(table.number("transmit_ring", host.transmit_ring, {1, 1'000'000}));
  host.receive_ring =
      static_cast<std::uint32_t>(table.number("receive_ring", host.receive_ring, {1, 1'000'000}));
  const auto shards = static_cast<std::uint32_t>(table.number("shards", 1, {1, ShardCount::most}));
  const Probability missteer = table.parsed("missteer", Probability{}, parse_probability,
                                            "a probability in quotes, like \"0.01\" or \"1%\"");
  if (shards > 1) {
    if (host.config.link != LinkType::ethernet) {
      table.wrong("shards", "a port steers Ethernet frames only, expected link = \"ethernet\"");
    }
    const auto index = static_cast<std::uint32_t>(into.world.hosts.size());
    into.spreadings.push_back({{index}, {shards}, missteer});
  } else if (missteer.per_billion != 0) {
    table.wrong("missteer", "one shard gets every frame, expected 'shards' beside it");
  }
  Table config = table.table("config", fmt::format("config of {}", table.title()));
  if (config.has("mtu_bytes")) {
    // The MSS follows the MTU unless it is set too.
    set_mtu(host.config, {static_cast<std::uint32_t>(read_bytes(config, "mtu_bytes", 1'500))});
  }
  read_config(config, host.config);
  Config keyed = host.config;  // a host of a world draws its keys from the seed
  draw_keys(keyed, entropy_of(Random(1)));
  if (const auto fault = fault_of(keyed); !fault.empty()) {
    table.wrong(fmt::format("{}: {}", table.title(), fault));
  }
  read_nic(table, host, into);
  table.end();
  claim_address(table, address.address, host.name, into);
  add_node(table, host.name,
           {sim::NodeKind::host, static_cast<std::uint32_t>(into.world.hosts.size())}, into);
  into.world.hosts.push_back(host);
}

void read_switch(Table& table, WorldInProgress& into) {
  sim::SwitchSpec made;
  made.name = read_name(table, "switch");
  made.addresses_max =
      static_cast<std::uint32_t>(table.number("addresses_max", made.addresses_max, {1, 65'536}));
  table.end();
  const auto index = static_cast<std::uint32_t>(into.world.switches.size());
  add_node(table, made.name, {sim::NodeKind::learning_switch, index}, into);
  into.world.switches.push_back(made);
}

void read_random_peer(Table& table, WorldInProgress& into) {
  sim::StationSpec made;
  made.name = read_name(table, "random_peer");
  made.model = "random_peer";
  made.address =
      table.parsed("address", IpAddress{}, parse_address, "an IPv4 address, like \"10.0.0.66\"");
  if (made.address.is_unspecified()) {
    table.wrong(
        fmt::format("{} lacks the key 'address': add one, like \"10.0.0.66\"", table.title()));
  }
  made.mac = table.parsed("mac", Mac{}, parse_mac, "like \"02:00:00:00:00:01\"");
  made.every = read_duration(table, "every", made.every);
  made.acts = table.number("acts", made.acts, {0, 1'000'000'000});
  table.end();
  claim_address(table, made.address, made.name, into);
  const auto index = static_cast<std::uint32_t>(into.world.stations.size());
  add_node(table, made.name, {sim::NodeKind::station, index}, into);
  into.world.stations.push_back(made);
}

void read_link(Table& table, WorldInProgress& into) {
  sim::LinkSpec link;
  link.name = read_name(table, "link");
  link.a = node_named(table, "from", into);
  link.b = node_named(table, "to", into);
  read_lane(table, link.forward);
  link.back = link.forward;
  Table back = table.table("back", fmt::format("back of {}", table.title()));
  read_lane(back, link.back);
  back.end();
  table.end();
  if (!into.links
           .emplace(std::string(link.name.view()),
                    static_cast<std::uint32_t>(into.world.links.size()))
           .second) {
    table.wrong("name", fmt::format("'{}' is taken, expected a new name", link.name.view()));
  }
  add_router_port(link.a, true, link, into);
  add_router_port(link.b, false, link, into);
  into.world.links.push_back(link);
}

}  // namespace lockstep::tools
