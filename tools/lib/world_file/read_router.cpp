// Reads routers, and expands the short forms dumbbell, parking_lot and star.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tools/base/text/units.hpp"
#include "tools/lib/world_file/reader.hpp"

namespace lockstep::tools {
namespace {

constexpr std::string_view expected_prefix = "a prefix, like \"10.2.0.0/16\" or \"2001:db8::/32\"";

/// Keys for several tables. The first gets the originals, so that errors name their lines.
class Part {
 public:
  explicit Part(toml::table* keys) {
    if (keys != nullptr) {
      original_ = std::move(*keys);
    }
  }
  toml::table next() {
    if (used_) {
      return spare_;
    }
    used_ = true;
    spare_ = original_;
    return std::move(original_);
  }

 private:
  toml::table original_;
  toml::table spare_;
  bool used_ = false;
};

/// What a short form has.
struct ShortForm {
  std::string prefix;  // of all names
  std::uint32_t net = 0;
  std::uint32_t count = 0;
  Part host;
  Part access;
  Part bottleneck;
};

/// Adds tables to the file.
class Expansion {
 public:
  Expansion(toml::table& file, ShortForm& form) : file_(file), form_(form) {}

  void router(const std::string& name) { add("router", {}, {{"name", named(name)}}); }
  /// A host with its link to a router. `net`: which network of the short form.
  struct Place {
    std::string router;
    std::uint32_t net = 0;
    std::uint32_t number = 0;
  };
  void host(const std::string& name, const Place& place) {
    add("host", form_.host.next(),
        {{"name", named(name)},
         {"address", fmt::format("10.{}.{}.1/24", form_.net + place.net, place.number)}});
    link(name, name, place.router, form_.access);
  }
  void bottleneck(const std::string& name, const std::string& from, const std::string& to) {
    link(name, from, to, form_.bottleneck);
  }

 private:
  std::string named(const std::string& name) const { return form_.prefix + name; }
  void link(const std::string& name, const std::string& from, const std::string& to, Part& part) {
    add("link", part.next(), {{"name", named(name)}, {"from", named(from)}, {"to", named(to)}});
  }
  void add(const std::string& kind, toml::table table,
           const std::vector<std::pair<std::string, std::string>>& keys) {
    for (const auto& [key, value] : keys) {
      table.insert_or_assign(key, value);
    }
    if (file_[kind].as_array() == nullptr) {
      file_.insert_or_assign(kind, toml::array{});
    }
    file_[kind].as_array()->push_back(std::move(table));
  }

  toml::table& file_;
  ShortForm& form_;
};

void expand_dumbbell(const ShortForm& form, Expansion& into) {
  into.router("left");
  into.router("right");
  into.bottleneck("bottleneck", "left", "right");
  for (std::uint32_t i = 1; i <= form.count; ++i) {
    into.host(fmt::format("l{}", i), {"left", 1, i});
    into.host(fmt::format("r{}", i), {"right", 2, i});
  }
}

/// Hosts `first` and `last` at both ends of all hops; `a1` and `b1` beside the first hop, and so
/// on.
void expand_parking_lot(const ShortForm& form, Expansion& into) {
  for (std::uint32_t i = 0; i <= form.count; ++i) {
    into.router(fmt::format("n{}", i));
  }
  into.host("first", {"n0", 3, 0});
  into.host("last", {fmt::format("n{}", form.count), 3, form.count});
  for (std::uint32_t i = 1; i <= form.count; ++i) {
    const std::string before = fmt::format("n{}", i - 1);
    const std::string after = fmt::format("n{}", i);
    into.bottleneck(fmt::format("hop{}", i), before, after);
    into.host(fmt::format("a{}", i), {before, 4, i});
    into.host(fmt::format("b{}", i), {after, 5, i});
  }
}

void expand_star(const ShortForm& form, Expansion& into) {
  into.router("hub");
  for (std::uint32_t i = 1; i <= form.count; ++i) {
    into.host(fmt::format("h{}", i), {"hub", 6, i});
  }
}

constexpr std::uint32_t forms_max = 16;
constexpr std::uint32_t nets_of_a_form = 8;

struct ShortKind {
  const char* name;
  const char* count;  // the key for how many there are
  bool narrow;        // it has a bottleneck
  void (*expand)(const ShortForm& form, Expansion& into);
};

ShortForm read_short(Table& table, toml::table& raw, const ShortKind& kind) {
  const std::string name = table.text("name", "");
  table.set_title(fmt::format("{} '{}'", kind.name, name));
  const auto count = static_cast<std::uint32_t>(table.number(kind.count, 2, {1, 250}));
  const auto part = [&](const char* key) -> toml::table* {
    const bool there = table.has(key);
    table.table(key, key);  // its keys are read where they are used
    return there ? raw[key].as_table() : nullptr;
  };
  toml::table* const host = part("host");
  toml::table* const access = part("access");
  toml::table* const bottleneck = kind.narrow ? part("bottleneck") : nullptr;
  table.end();
  return {name.empty() ? "" : name + "-", 0, count, Part(host), Part(access), Part(bottleneck)};
}

}  // namespace

void expand_short_forms(toml::table& file, const std::string& path) {
  constexpr std::array<ShortKind, 3> kinds{{{"dumbbell", "pairs", true, expand_dumbbell},
                                            {"parking_lot", "hops", true, expand_parking_lot},
                                            {"star", "hosts", false, expand_star}}};
  for (const ShortKind& kind : kinds) {
    if (!file.contains(kind.name)) {
      continue;
    }
    std::vector<ShortForm> forms;
    std::vector<Table> tables = Table(path, file, "the world").tables(kind.name, kind.name);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (i == forms_max) {
        tables[i].wrong(fmt::format("a world has at most {} of [[{}]]", forms_max, kind.name));
      }
      forms.push_back(read_short(tables[i], *file[kind.name].as_array()->get(i)->as_table(), kind));
      forms[i].net = static_cast<std::uint32_t>(i) * nets_of_a_form;
    }
    for (ShortForm& form : forms) {
      Expansion into(file, form);
      kind.expand(form, into);
    }
    file.erase(kind.name);
  }
}

void read_router(Table& table, WorldInProgress& into) {
  sim::RouterSpec made;
  made.name = read_name(table, "router");
  const auto index = static_cast<std::uint32_t>(into.world.routers.size());
  for (Table& each : table.tables("interface", fmt::format("interface of {}", table.title()))) {
    const std::string link = each.text("link");
    const AddressAndPrefix address = read_address(each);
    each.end();
    if (!into.interfaces.emplace(std::pair(index, link), address.address).second) {
      each.wrong("link", fmt::format("'{}' has an interface already, expected one a link", link));
    }
    claim_address(each, address.address, made.name, into);
  }
  for (Table& each : table.tables("route", fmt::format("route of {}", table.title()))) {
    const auto to =
        each.parsed("to", AddressAndPrefix{}, parse_address_and_prefix, expected_prefix);
    const auto via = each.parsed("via", IpAddress{}, parse_address,
                                 "the address of a neighbouring router, like \"100.64.0.2\"");
    if (!each.has("to") || via.is_unspecified() || via.is_v4() != to.address.is_v4()) {
      each.wrong(fmt::format("{}: expected 'to' and 'via', both IPv4 or both IPv6", each.title()));
    }
    each.end();
    made.routes.push_back({to.address, to.prefix_bits, via});
  }
  table.end();
  add_node(table, made.name, {sim::NodeKind::router, index}, into);
  into.world.routers.push_back(made);
}

void add_router_port(sim::NodeRef end, bool at_a, const sim::LinkSpec& link,
                     WorldInProgress& into) {
  if (end.kind != sim::NodeKind::router) {
    return;
  }
  sim::RouterPort port;
  port.link = static_cast<std::uint32_t>(into.world.links.size());
  port.at_a = at_a;
  const auto given = into.interfaces.find(std::pair(end.index, std::string(link.name.view())));
  if (given != into.interfaces.end()) {
    port.address = given->second;
    into.interfaces.erase(given);
  }
  into.world.routers[end.index].ports.push_back(port);
}

}  // namespace lockstep::tools
