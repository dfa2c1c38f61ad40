// Builds the Config of a stack from arguments of a Python caller.
#include "tools/lib/calls/configure.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>

#include "core/stack/config_fields.hpp"
#include "core/stack/stack.hpp"
#include "core/units/random.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/field_names.hpp"
#include "tools/base/text/suggestion.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools::python {
namespace {

/// The largest arena of one stack; a larger one is taken for a mistake.
constexpr std::uint64_t arena_bytes_max = std::uint64_t{4} << 30;

[[noreturn]] void wrong(const std::string& what) { throw Failure(ExitCode::bad_input, what); }

void assign(Count& field, std::uint64_t value) { field.value = static_cast<std::uint32_t>(value); }
void assign(Bytes& field, std::uint64_t value) { field.count = static_cast<std::uint32_t>(value); }
void assign(Duration& field, std::uint64_t value) { field.ns = value; }
void assign(bool& field, std::uint64_t value) { field = value != 0; }
void assign(std::uint8_t& field, std::uint64_t value) { field = static_cast<std::uint8_t>(value); }
void assign(Sequence& field, std::uint64_t value) {
  field.value = static_cast<std::uint32_t>(value);
}
void assign(Port& field, std::uint64_t value) { field.value = static_cast<std::uint16_t>(value); }

constexpr std::string_view name_of_unit(Unit unit) {
  constexpr std::array<std::string_view, 7> names{"count", "bytes",    "duration", "boolean",
                                                  "octet", "sequence", "port"};
  return names[static_cast<std::uint32_t>(unit)];
}

std::optional<std::uint64_t> number_in(const FieldValue& value, Unit unit) {
  if (auto const* number = std::get_if<std::uint64_t>(&value)) {
    return *number;
  }
  std::string const& text = std::get<std::string>(value);
  if (unit == Unit::duration) {
    auto const time = parse_duration(text);
    return time ? std::optional(time->ns) : std::nullopt;
  }
  return unit == Unit::bytes ? parse_bytes(text) : std::nullopt;
}

std::string shown(const FieldValue& value) {
  auto const* number = std::get_if<std::uint64_t>(&value);
  return number != nullptr ? fmt::format("{}", *number) : std::get<std::string>(value);
}

/// Small pools for a few connections, so that a stack is made quickly.
void shrink_pools(Config& config) {
  tcp::Config& tcp = config.tcp;
  tcp.connections_max = Count{64};
  tcp.active_max = Count{64};
  tcp.time_wait_max = Count{64};
  tcp.listeners_max = Count{16};
  tcp.extents_max = Count{1024};
  tcp.pieces_max = Count{4096};
  tcp.blocks_max = Count{2048};
  tcp.owed_max = Count{512};
  tcp.sent_max = Count{4096};
  tcp.marks_max = Count{4096};
  tcp.fast_open_cache_max = Count{16};
  tcp.accounts = true;
  config.paths_max = Count{16};
  config.neighbours_max = Count{64};
  config.regions_max = Count{16};
}

Mac mac_of(const std::string& text, const char* what) {
  auto const mac = parse_mac(text);
  if (!mac) {
    wrong(fmt::format("{} is '{}', expected six octets like 02:00:00:00:00:01", what, text));
  }
  return *mac;
}

void set_addresses(const StackSpec& spec, Config& config) {
  if (spec.addresses.empty() || spec.addresses.size() > Config::addresses_max) {
    wrong(fmt::format("there are {} addresses, expected 1 to {}", spec.addresses.size(),
                      std::uint32_t{Config::addresses_max}));
  }
  for (std::string const& text : spec.addresses) {
    auto const both = parse_address_and_prefix(text);
    // Without a prefix length every address is on link, so that no gateway is needed.
    HostAddress const address = both ? HostAddress{both->address, both->prefix_bits}
                                     : HostAddress{address_of(text, "an address"), 0};
    config.addresses[config.address_count.value++] = address;
  }
  if (!spec.gateway.empty()) {
    config.gateway = address_of(spec.gateway, "gateway");
  }
}

void set_link(const StackSpec& spec, Config& config) {
  if (spec.link != "ip" && spec.link != "ethernet") {
    wrong(fmt::format("link is '{}', expected ip or ethernet", spec.link));
  }
  config.link = spec.link == "ip" ? LinkType::ip : LinkType::ethernet;
  config.mac = mac_of(spec.mac.empty() ? "02:00:00:00:00:01" : spec.mac, "mac");
  if (spec.neighbours.size() > Config::static_neighbours_max) {
    wrong(fmt::format("there are {} neighbours, expected {} at most", spec.neighbours.size(),
                      std::uint32_t{Config::static_neighbours_max}));
  }
  for (auto const& [address, mac] : spec.neighbours) {
    config.static_neighbours[config.static_neighbour_count.value++] = {
        address_of(address, "a neighbour"), mac_of(mac, "a neighbour's mac")};
  }
}

}  // namespace

FieldValue field_value(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc{} && stopped == end) {
    return number;
  }
  if (text == "true" || text == "false") {
    return std::uint64_t{text == "true" ? 1U : 0U};
  }
  return text;
}

Config profile_of(const std::string& name) {
  auto const config = profile_by_name(name);
  if (!config) {
    wrong(fmt::format("profile is '{}', expected default, rfc, linux or freebsd", name));
  }
  return *config;
}

IpAddress address_of(const std::string& text, const char* what) {
  auto const address = parse_address(text);
  if (!address) {
    wrong(fmt::format("{} is '{}', expected an IPv4 or IPv6 address", what, text));
  }
  return *address;
}

Duration duration_of(const std::string& text) {
  auto const duration = parse_duration(text);
  if (!duration) {
    wrong(
        fmt::format("'{}' is not a duration, expected a number with ns, us, ms, s, min or h, like "
                    "200ms",
                    text));
  }
  return *duration;
}

void set_field(Config& config, const std::string& name, const FieldValue& value) {
  bool known = false;
  visit_fields(config, [&](std::string_view each, Unit unit, FieldRange range, auto& field) {
    if (each != name) {
      return;
    }
    known = true;
    auto const number = number_in(value, unit);
    if (!number || *number < range.least || *number > range.most) {
      wrong(fmt::format("{} is {}, expected {} to {}{}", name, shown(value), range.least,
                        range.most,
                        unit == Unit::duration ? " (nanoseconds, or text like 200ms)" : ""));
    }
    assign(field, *number);
  });
  visit_choices(config, [&](std::string_view each, auto words, auto& field) {
    if (each != name) {
      return;
    }
    for (std::uint32_t i = 0; i < words.size(); ++i) {
      auto const* text = std::get_if<std::string>(&value);
      if (text != nullptr && words[i] == *text) {
        field = static_cast<std::remove_reference_t<decltype(field)>>(i);
        known = true;
      }
    }
    if (!known) {
      wrong(
          fmt::format("{} is {}, expected one of {}", name, shown(value), fmt::join(words, ", ")));
    }
  });
  if (!known) {
    wrong(fmt::format("Config has no field '{}'{}: lockstep.config_fields() lists them", name,
                      suggestion(name, field_names())));
  }
}

Config config_of(const StackSpec& spec) {
  Config config = profile_of(spec.profile);
  shrink_pools(config);
  draw_keys(config, entropy_of(Random(spec.seed).fork("keys")));
  set_link(spec, config);
  set_addresses(spec, config);
  if (spec.mtu < 68 || spec.mtu > 65'535) {
    wrong(fmt::format("mtu is {}, expected 68 to 65535", spec.mtu));
  }
  set_mtu(config, Bytes{static_cast<std::uint32_t>(spec.mtu)});
  for (auto const& [name, value] : spec.fields) {
    set_field(config, name, value);
  }
  if (std::string_view const fault = fault_of(config); !fault.empty()) {
    wrong(fmt::format("these settings do not fit together, expected another {}", fault));
  }
  if (std::uint64_t const bytes = Stack::arena_bytes(config); bytes > arena_bytes_max) {
    wrong(fmt::format("the pools take {} bytes, expected {} at most: ask for fewer", bytes,
                      arena_bytes_max));
  }
  return config;
}

std::vector<FieldInfo> fields_of(const std::string& profile) {
  Config config = profile_of(profile);
  std::vector<FieldInfo> out;
  visit_fields(config, [&](std::string_view name, Unit unit, FieldRange range, auto& field) {
    out.push_back({std::string(name),
                   std::string(name_of_unit(unit)),
                   range.least,
                   range.most,
                   {},
                   number_of(field)});
  });
  visit_choices(config, [&](std::string_view name, auto words, auto& field) {
    out.push_back({std::string(name),
                   "word",
                   0,
                   words.size() - 1,
                   {words.begin(), words.end()},
                   static_cast<std::uint64_t>(field)});
  });
  return out;
}

}  // namespace lockstep::tools::python
