// Scalars by config_fields.hpp; enumerations as numbers or words; addresses and keys as numbers.
#include "tools/lib/journal/config_json.hpp"

#include <algorithm>
#include <type_traits>

#include "core/stack/config_fields.hpp"

namespace lockstep::journal {
namespace {

using nlohmann::ordered_json;

/// Calls visit(name, reference) for each enumeration that config_fields.hpp does not list.
template <class C, class Visit>
void visit_enumerations(C& config, Visit&& visit) {
  visit("link", config.link);
}

template <class C, class Visit>
void visit_keys(C& config, Visit&& visit) {
  visit("table_key", config.tcp.table_key);
  visit("isn_key", config.tcp.isn_key);
  visit("port_key", config.tcp.port_key);
  visit("timestamp_key", config.tcp.timestamp_key);
  visit("fast_open_key", config.tcp.fast_open_key);
}

ordered_json json_of(const IpAddress& address) { return {address.high, address.low}; }
IpAddress address_from(const ordered_json& json) {
  return {json.at(0).get<std::uint64_t>(), json.at(1).get<std::uint64_t>()};
}

void set(Count& to, std::uint64_t value) { to.value = static_cast<std::uint32_t>(value); }
void set(Bytes& to, std::uint64_t value) { to.count = static_cast<std::uint32_t>(value); }
void set(Duration& to, std::uint64_t value) { to.ns = value; }
void set(Sequence& to, std::uint64_t value) { to.value = static_cast<std::uint32_t>(value); }
void set(Port& to, std::uint64_t value) { to.value = static_cast<std::uint16_t>(value); }
void set(bool& to, std::uint64_t value) { to = value != 0; }
void set(std::uint8_t& to, std::uint64_t value) { to = static_cast<std::uint8_t>(value); }

void add_addresses(const Config& config, ordered_json& out) {
  out["mac"] = config.mac.octets;
  out["vlan"] = config.vlan;
  out["gateway"] = json_of(config.gateway);
  out["addresses"] = ordered_json::array();
  for (std::uint32_t i = 0; i < config.address_count.value; ++i) {
    out["addresses"].push_back(
        {json_of(config.addresses[i].address), config.addresses[i].prefix_bits});
  }
  out["routes"] = ordered_json::array();
  for (std::uint32_t i = 0; i < config.route_count.value; ++i) {
    ConfigRoute const& route = config.routes[i];
    out["routes"].push_back({json_of(route.prefix), json_of(route.gateway), route.prefix_bits});
  }
  out["neighbours"] = ordered_json::array();
  for (std::uint32_t i = 0; i < config.static_neighbour_count.value; ++i) {
    StaticNeighbour const& each = config.static_neighbours[i];
    out["neighbours"].push_back({json_of(each.address), each.mac.octets});
  }
}

/// The length of a list; throws std::out_of_range if it is more than `most`.
Count count_of(const ordered_json& list, std::uint32_t most) {
  if (list.size() > most) {
    throw std::out_of_range("a list is too long");
  }
  return Count{static_cast<std::uint32_t>(list.size())};
}

void read_addresses(const ordered_json& json, Config& out) {
  out.mac.octets = json.at("mac").get<std::array<std::uint8_t, 6>>();
  out.vlan = json.at("vlan").get<std::uint16_t>();
  out.gateway = address_from(json.at("gateway"));
  out.address_count = count_of(json.at("addresses"), Config::addresses_max);
  for (std::uint32_t i = 0; i < out.address_count.value; ++i) {
    auto const& each = json.at("addresses").at(i);
    out.addresses[i] = {address_from(each.at(0)), each.at(1).get<std::uint8_t>()};
  }
  out.route_count = count_of(json.at("routes"), Config::routes_max);
  for (std::uint32_t i = 0; i < out.route_count.value; ++i) {
    auto const& each = json.at("routes").at(i);
    out.routes[i] = {address_from(each.at(0)), address_from(each.at(1)),
                     each.at(2).get<std::uint8_t>()};
  }
  out.static_neighbour_count = count_of(json.at("neighbours"), Config::static_neighbours_max);
  for (std::uint32_t i = 0; i < out.static_neighbour_count.value; ++i) {
    auto const& each = json.at("neighbours").at(i);
    out.static_neighbours[i] = {address_from(each.at(0)),
                                {each.at(1).get<std::array<std::uint8_t, 6>>()}};
  }
}

/// Throws std::exception; `at` then names the field that is wrong.
void read(const ordered_json& json, Config& out, std::string& at) {
  std::size_t known = 6;  // the members written by add_addresses
  visit_fields(out, [&](std::string_view name, Unit, FieldRange, auto& value) {
    at = name;
    set(value, json.at(at).get<std::uint64_t>());
    ++known;
  });
  visit_choices(out, [&](std::string_view name, const auto& words, auto& value) {
    at = name;
    auto const found = std::find(words.begin(), words.end(), json.at(at).get<std::string>());
    if (found == words.end()) {
      throw std::out_of_range("no such word");
    }
    value = static_cast<std::remove_reference_t<decltype(value)>>(found - words.begin());
    ++known;
  });
  visit_enumerations(out, [&](std::string_view name, auto& value) {
    at = name;
    value = static_cast<std::remove_reference_t<decltype(value)>>(json.at(at).get<std::uint8_t>());
    ++known;
  });
  visit_keys(out, [&](std::string_view name, HashKey& value) {
    at = name;
    value = {json.at(at).at(0).get<std::uint64_t>(), json.at(at).at(1).get<std::uint64_t>()};
    ++known;
  });
  at = "addresses";
  read_addresses(json, out);
  at = "a field that this program does not know";
  if (json.size() != known) {
    throw std::out_of_range("unknown");
  }
}

}  // namespace

ordered_json json_of(const Config& config) {
  ordered_json out;
  visit_fields(config, [&](std::string_view name, Unit, FieldRange, const auto& value) {
    out[std::string(name)] = number_of(value);
  });
  visit_choices(config, [&](std::string_view name, const auto& words, const auto& value) {
    out[std::string(name)] = words[static_cast<std::size_t>(value)];
  });
  visit_enumerations(config, [&](std::string_view name, const auto& value) {
    out[std::string(name)] = static_cast<std::uint32_t>(value);
  });
  visit_keys(config, [&](std::string_view name, const HashKey& value) {
    out[std::string(name)] = {value.first, value.second};
  });
  add_addresses(config, out);
  return out;
}

bool config_from(const ordered_json& json, Config& out, std::string& fault) {
  std::string at;
  try {
    read(json, out, at);
  } catch (const std::exception&) {
    fault = at;
    return false;
  }
  fault = fault_of(out);
  return fault.empty();
}

}  // namespace lockstep::journal
