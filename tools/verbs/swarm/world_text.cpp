// One walk over all fields of a world, for writing and for reading.
#include "tools/verbs/swarm/world_text.hpp"

#include <fmt/core.h>

#include <charconv>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <type_traits>
#include <vector>

#include "core/stack/config_fields.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t parts_max = 64;  // hosts, links, faults and so on of a world

struct Line {
  int number = 0;
  std::string value;
};

/// Visits fields, and either collects their values or sets them.
class Walk {
 public:
  Walk() = default;
  Walk(std::map<std::string, Line> lines, std::string origin)
      : reads_(true), lines_(std::move(lines)), origin_(std::move(origin)) {}

  bool reads() const { return reads_; }
  const std::vector<std::pair<std::string, std::string>>& written() const { return written_; }

  template <class T>
  void number(const std::string& name, T& value) {
    if constexpr (std::is_enum_v<T>) {
      auto plain = static_cast<std::underlying_type_t<T>>(value);
      number(name, plain);
      value = static_cast<T>(plain);
    } else if constexpr (std::is_same_v<T, bool>) {
      auto plain = static_cast<std::uint8_t>(value ? 1 : 0);
      number(name, plain);
      value = plain != 0;
    } else if (!reads_) {
      written_.emplace_back(name, std::to_string(value));
    } else if (Line line; take(name, line)) {
      char const* const end = line.value.data() + line.value.size();
      auto const [stop, error] = std::from_chars(line.value.data(), end, value);
      if (error != std::errc{} || stop != end) {
        refuse(line.number,
               fmt::format("{} {}: expected a number in the field's range", name, line.value));
      }
    }
  }

  /// Numbers on one line.
  template <class T>
  void numbers(const std::string& name, std::vector<T>& values) {
    if (!reads_) {
      std::string all;
      for (T const value : values) {
        all += (all.empty() ? "" : " ") + std::to_string(value);
      }
      written_.emplace_back(name, all);
    } else if (Line line; take(name, line)) {
      std::istringstream in(line.value);
      std::uint64_t value = 0;
      while (in >> value && value <= std::numeric_limits<T>::max()) {
        values.push_back(static_cast<T>(value));
      }
      if (!in.eof() || line.value.find('-') != std::string::npos) {
        refuse(line.number, fmt::format("{}: expected numbers in the field's range", name));
      }
    }
  }

  void text(const std::string& name, sim::Name& value) {
    if (!reads_) {
      written_.emplace_back(name, std::string(value.view()));
    } else if (Line line; take(name, line)) {
      value = sim::Name(line.value);
    }
  }

  /// Calls `each(walk, prefix, part)` for all parts.
  template <class T, class Each>
  void list(const std::string& name, std::vector<T>& parts, Each each) {
    auto count = static_cast<std::uint32_t>(parts.size());
    number(name + "s", count);
    if (count > parts_max) {
      refuse(0, fmt::format("{}s {}: expected at most {}", name, count, parts_max));
    }
    parts.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      each(*this, fmt::format("{}.{}.", name, i), parts[i]);
    }
  }

  /// Fields that the walk did not visit are errors.
  void finish() const {
    for (const auto& [name, line] : lines_) {
      refuse(line.number, fmt::format("{}: not a field of a world", name));
    }
  }

  [[noreturn]] void refuse(int number, const std::string& what) const {
    std::string const line = number == 0 ? "" : fmt::format(":{}", number);
    throw Failure(ExitCode::bad_input, fmt::format("{}{}: {}", origin_, line, what));
  }

 private:
  bool take(const std::string& name, Line& line) {
    auto const at = lines_.find(name);
    if (at == lines_.end()) {
      return false;
    }
    line = at->second;
    lines_.erase(at);
    return true;
  }

  bool reads_ = false;
  std::map<std::string, Line> lines_;
  std::string origin_;
  std::vector<std::pair<std::string, std::string>> written_;
};

void walk_address(Walk& walk, const std::string& name, IpAddress& address) {
  walk.number(name + ".high", address.high);
  walk.number(name + ".low", address.low);
}

void walk_mac(Walk& walk, const std::string& name, Mac& mac) {
  for (std::size_t i = 0; i < mac.octets.size(); ++i) {
    walk.number(fmt::format("{}.{}", name, i), mac.octets[i]);
  }
}

void walk_key(Walk& walk, const std::string& name, HashKey& key) {
  walk.number(name + ".first", key.first);
  walk.number(name + ".second", key.second);
}

// The number in a field of Config.
std::uint32_t& plain(Count& value) { return value.value; }
std::uint32_t& plain(Bytes& value) { return value.count; }
std::uint64_t& plain(Duration& value) { return value.ns; }
std::uint32_t& plain(Sequence& value) { return value.value; }
std::uint16_t& plain(Port& value) { return value.value; }
bool& plain(bool& value) { return value; }
std::uint8_t& plain(std::uint8_t& value) { return value; }

void walk_config(Walk& walk, const std::string& prefix, Config& config) {
  walk.number(prefix + "link", config.link);
  walk_mac(walk, prefix + "mac", config.mac);
  for (std::uint32_t i = 0; i < Config::addresses_max; ++i) {
    std::string const name = fmt::format("{}address.{}", prefix, i);
    if (walk.reads() || i < config.address_count.value) {
      walk_address(walk, name, config.addresses[i].address);
      walk.number(name + ".prefix", config.addresses[i].prefix_bits);
    }
  }
  walk.number(prefix + "addresses", config.address_count.value);
  walk_address(walk, prefix + "gateway", config.gateway);
  walk.number(prefix + "vlan", config.vlan);
  for (std::uint32_t i = 0; i < Config::routes_max; ++i) {
    std::string const name = fmt::format("{}route.{}", prefix, i);
    if (walk.reads() || i < config.route_count.value) {
      walk_address(walk, name + ".prefix", config.routes[i].prefix);
      walk_address(walk, name + ".gateway", config.routes[i].gateway);
      walk.number(name + ".bits", config.routes[i].prefix_bits);
    }
  }
  walk.number(prefix + "routes", config.route_count.value);
  for (std::uint32_t i = 0; i < Config::static_neighbours_max; ++i) {
    std::string const name = fmt::format("{}neighbour.{}", prefix, i);
    if (walk.reads() || i < config.static_neighbour_count.value) {
      walk_address(walk, name, config.static_neighbours[i].address);
      walk_mac(walk, name + ".mac", config.static_neighbours[i].mac);
    }
  }
  walk.number(prefix + "neighbours", config.static_neighbour_count.value);
  walk_key(walk, prefix + "table_key", config.tcp.table_key);
  walk_key(walk, prefix + "isn_key", config.tcp.isn_key);
  walk_key(walk, prefix + "port_key", config.tcp.port_key);
  walk_key(walk, prefix + "fast_open_key", config.tcp.fast_open_key);
  walk_key(walk, prefix + "timestamp_key", config.tcp.timestamp_key);
  visit_choices(config, [&](std::string_view name, const auto&, auto& value) {
    walk.number(prefix + std::string(name), value);
  });
  visit_fields(config, [&](std::string_view name, Unit, FieldRange, auto& value) {
    walk.number(prefix + std::string(name), plain(value));
  });
}

void walk_chance(Walk& walk, const std::string& name, Probability& chance) {
  walk.number(name, chance.per_billion);
}

// Writes nothing for a host with the plain port.
void walk_nic(Walk& walk, const std::string& prefix, sim::NicSpec& nic) {
  if (!walk.reads() && nic.plain()) {
    return;
  }
  walk.text(prefix + "driver", nic.driver);
  walk.number(prefix + "batch", nic.batch);
  walk.number(prefix + "hash", nic.hash);
  walk.number(prefix + "completion", nic.completion.ns);
  walk_chance(walk, prefix + "no_buffer", nic.no_buffer);
  walk_chance(walk, prefix + "ring_full", nic.ring_full);
  walk_chance(walk, prefix + "truncated", nic.truncated);
  walk_chance(walk, prefix + "bad_sum", nic.bad_sum);
  walk_chance(walk, prefix + "mispredicted", nic.mispredicted);
  walk_chance(walk, prefix + "not_ready", nic.not_ready);
  walk_chance(walk, prefix + "late", nic.late);
  walk.number(prefix + "late_by", nic.late_by.ns);
  walk.number(prefix + "link_up_for", nic.link_up_for.ns);
  walk.number(prefix + "link_down_for", nic.link_down_for.ns);
  walk.number(prefix + "errors_until", nic.errors_until.ns);
}

void walk_host(Walk& walk, const std::string& prefix, sim::HostSpec& host) {
  walk.text(prefix + "name", host.name);
  walk.number(prefix + "clock_origin", host.clock.origin.ns);
  walk.number(prefix + "clock_skew_ppb", host.clock.skew_ppb);
  walk.number(prefix + "poll", host.poll.ns);
  walk.number(prefix + "transmit_ring", host.transmit_ring);
  walk.number(prefix + "receive_ring", host.receive_ring);
  walk_nic(walk, prefix + "nic.", host.nic);
  walk_config(walk, prefix, host.config);
}

void walk_station(Walk& walk, const std::string& prefix, sim::StationSpec& station) {
  walk.text(prefix + "name", station.name);
  walk.text(prefix + "model", station.model);
  walk_mac(walk, prefix + "mac", station.mac);
  walk_address(walk, prefix + "address", station.address);
  walk.number(prefix + "every", station.every.ns);
  walk.number(prefix + "acts", station.acts);
}

// Writes nothing for a lane without an output.
void walk_output(Walk& walk, const std::string& prefix, sim::OutputSpec& output) {
  if (!walk.reads() && output.plain()) {
    return;
  }
  walk.number(prefix + "discipline", output.discipline);
  walk.number(prefix + "red.min", output.red.min_packets);
  walk.number(prefix + "red.max", output.red.max_packets);
  walk_chance(walk, prefix + "red.most", output.red.most);
  walk_chance(walk, prefix + "red.weight", output.red.weight);
  walk.number(prefix + "red.gentle", output.red.gentle);
  walk.number(prefix + "red.ecn", output.red.ecn);
  walk.number(prefix + "red.packet_time", output.red.packet_time.ns);
  for (auto& [name, codel] :
       {std::pair{"codel.", &output.codel}, std::pair{"fq_codel.", &output.fq_codel.codel}}) {
    walk.number(prefix + name + "target", codel->target.ns);
    walk.number(prefix + name + "interval", codel->interval.ns);
    walk.number(prefix + name + "packet_bytes", codel->packet_bytes);
    walk.number(prefix + name + "ecn", codel->ecn);
  }
  walk.number(prefix + "fq_codel.flows", output.fq_codel.flows);
  walk.number(prefix + "fq_codel.quantum", output.fq_codel.quantum_bytes);
  walk.number(prefix + "fq_codel.limit", output.fq_codel.limit_packets);
  walk.number(prefix + "pie.target", output.pie.target.ns);
  walk.number(prefix + "pie.update", output.pie.update.ns);
  walk.number(prefix + "pie.burst", output.pie.burst.ns);
  walk_chance(walk, prefix + "pie.mark_up_to", output.pie.mark_up_to);
  walk.number(prefix + "pie.packet_bytes", output.pie.packet_bytes);
  walk.number(prefix + "pie.ecn", output.pie.ecn);
  walk.number(prefix + "shape", output.shape_bits_per_second);
  walk.number(prefix + "shape_burst", output.shape_burst_bytes);
  walk.numbers(prefix + "trace_ms", output.trace_ms);
}

void walk_router(Walk& walk, const std::string& prefix, sim::RouterSpec& router) {
  walk.text(prefix + "name", router.name);
  walk.list(prefix + "port", router.ports,
            [](Walk& each, const std::string& name, sim::RouterPort& port) {
              each.number(name + "link", port.link);
              each.number(name + "at_a", port.at_a);
              walk_mac(each, name + "mac", port.mac);
              walk_address(each, name + "address", port.address);
            });
  walk.list(prefix + "route", router.routes,
            [](Walk& each, const std::string& name, sim::RouteSpec& route) {
              walk_address(each, name + "prefix", route.prefix);
              each.number(name + "bits", route.prefix_bits);
              walk_address(each, name + "via", route.via);
            });
}

void walk_lane(Walk& walk, const std::string& prefix, sim::LaneSpec& lane) {
  walk.number(prefix + "rate", lane.rate_bits_per_second);
  walk.number(prefix + "delay", lane.delay.ns);
  walk.number(prefix + "queue", lane.queue_bytes);
  walk.number(prefix + "queue_packets", lane.queue_packets);
  walk.number(prefix + "mark_packets", lane.mark_packets);
  walk.number(prefix + "mtu", lane.mtu_bytes);
  walk.number(prefix + "answers_too_big", lane.answers_too_big);
  walk_output(walk, prefix, lane.output);
}

void walk_link(Walk& walk, const std::string& prefix, sim::LinkSpec& link) {
  walk.text(prefix + "name", link.name);
  walk.number(prefix + "from.kind", link.a.kind);
  walk.number(prefix + "from.index", link.a.index);
  walk.number(prefix + "to.kind", link.b.kind);
  walk.number(prefix + "to.index", link.b.index);
  walk_lane(walk, prefix + "forward.", link.forward);
  walk_lane(walk, prefix + "back.", link.back);
}

void walk_draw(Walk& walk, const std::string& prefix, sim::Draw& draw) {
  walk.number(prefix + "kind", draw.kind);
  walk.number(prefix + "least", draw.least);
  walk.number(prefix + "mean", draw.mean);
  walk.number(prefix + "most", draw.most);
  walk.number(prefix + "shape", draw.shape_thousandths);
  walk.numbers(prefix + "values", draw.values);
}

// Writes nothing for an application that draws nothing.
void walk_draws(Walk& walk, const std::string& prefix, sim::AppDraws& draws) {
  if (!walk.reads() && !draws.any()) {
    return;
  }
  walk_draw(walk, prefix + "start.", draws.start);
  walk_draw(walk, prefix + "bytes.", draws.bytes);
  walk_draw(walk, prefix + "think.", draws.think);
  walk.number(prefix + "arrivals", draws.arrivals.kind);
  walk.number(prefix + "arrivals.gap", draws.arrivals.gap.ns);
  walk.number(prefix + "arrivals.on", draws.arrivals.on.ns);
  walk.number(prefix + "arrivals.off", draws.arrivals.off.ns);
}

void walk_app(Walk& walk, const std::string& prefix, sim::AppSpec& app) {
  walk.text(prefix + "name", app.name);
  walk.text(prefix + "model", app.model);
  walk.number(prefix + "from", app.client.value);
  walk.number(prefix + "to", app.server.value);
  walk.number(prefix + "port", app.port.value);
  walk.number(prefix + "start", app.start.ns);
  walk.number(prefix + "flows", app.flows);
  walk.number(prefix + "repeat", app.repeat);
  walk.number(prefix + "stagger", app.stagger.ns);
  walk.number(prefix + "bytes", app.bytes);
  walk.number(prefix + "reply_bytes", app.reply_bytes);
  walk.number(prefix + "rounds", app.rounds);
  walk.number(prefix + "think", app.think.ns);
  walk.number(prefix + "read_bytes", app.read_bytes);
  walk.number(prefix + "read_every", app.read_every.ns);
  walk.number(prefix + "read_after", app.read_after.ns);
  walk.number(prefix + "lend", app.lend);
  walk.number(prefix + "urgent_every", app.urgent_every);
  walk.number(prefix + "fast_open", app.fast_open);
  walk.number(prefix + "close_mode", app.close_mode);
  walk_draws(walk, prefix + "draws.", app.draws);
}

void walk_active(Walk& walk, const std::string& prefix, sim::Active& active) {
  walk.number(prefix + "from", active.from.ns);
  walk.number(prefix + "until", active.until.ns);
  walk.number(prefix + "every", active.every.ns);
  walk.number(prefix + "lasting", active.lasting.ns);
}

struct FaultWalk {
  Walk& walk;
  const std::string& prefix;

  void operator()(sim::Loss& f) const { walk_chance(walk, prefix + "probability", f.probability); }
  void operator()(sim::BurstLoss& f) const {
    walk_chance(walk, prefix + "to_bad", f.to_bad);
    walk_chance(walk, prefix + "to_good", f.to_good);
    walk_chance(walk, prefix + "good_loss", f.good_loss);
    walk_chance(walk, prefix + "bad_loss", f.bad_loss);
  }
  void operator()(sim::Mask& f) const {
    for (std::size_t i = 0; i < f.words.size(); ++i) {
      if (walk.reads() || f.words[i] != 0) {
        walk.number(fmt::format("{}word.{}", prefix, i), f.words[i]);
      }
    }
    walk.number(prefix + "bits", f.bits);
    walk.number(prefix + "repeat", f.repeat);
    walk.number(prefix + "period", f.period);
  }
  void operator()(sim::Duplicate& f) const {
    walk_chance(walk, prefix + "probability", f.probability);
    walk.number(prefix + "within", f.within.ns);
  }
  void operator()(sim::Reorder& f) const {
    walk_chance(walk, prefix + "probability", f.probability);
    walk.number(prefix + "hold", f.hold.ns);
  }
  void operator()(sim::Corrupt& f) const {
    walk_chance(walk, prefix + "probability", f.probability);
    walk.number(prefix + "first_bit", f.first_bit);
    walk.number(prefix + "last_bit", f.last_bit);
  }
  void operator()(sim::Substitute& f) const {
    walk_chance(walk, prefix + "probability", f.probability);
    walk.number(prefix + "first_byte", f.first_byte);
  }
  void operator()(sim::Delay& f) const {
    walk.number(prefix + "base", f.base.ns);
    walk.number(prefix + "jitter", f.jitter.ns);
    walk.number(prefix + "keep_order", f.keep_order);
  }
  void operator()(sim::Partition&) const {}
  void operator()(sim::RingFull&) const {}
  void operator()(sim::Stall&) const {}
};

template <class Fault, std::size_t... I>
Fault of_kind(std::size_t kind, std::index_sequence<I...>) {
  Fault fault;
  static_cast<void>(
      ((kind == I ? (fault = std::variant_alternative_t<I, Fault>{}, true) : false) || ...));
  return fault;
}

template <class Fault>
void walk_fault(Walk& walk, const std::string& prefix, Fault& fault) {
  sim::Name kind(name_of(sim::kind_of(fault)));
  walk.text(prefix + "kind", kind);
  if (walk.reads()) {
    constexpr std::size_t count = std::variant_size_v<Fault>;
    std::size_t index = 0;
    auto const fresh = [&] { return of_kind<Fault>(index, std::make_index_sequence<count>{}); };
    while (index < count && name_of(sim::kind_of(fresh())) != kind.view()) {
      ++index;
    }
    if (index == count) {
      walk.refuse(0, fmt::format("{}kind {}: not a kind of fault", prefix, kind.view()));
    }
    fault = fresh();
  }
  std::visit(FaultWalk{walk, prefix}, fault);
}

void walk_lane_fault(Walk& walk, const std::string& prefix, sim::LaneFaultSpec& spec) {
  walk.text(prefix + "name", spec.name);
  walk.number(prefix + "link", spec.link);
  walk.number(prefix + "forward", spec.forward);
  walk.number(prefix + "back", spec.back);
  walk_active(walk, prefix, spec.active);
  walk_fault(walk, prefix + "does.", spec.fault);
}

void walk_host_fault(Walk& walk, const std::string& prefix, sim::HostFaultSpec& spec) {
  walk.text(prefix + "name", spec.name);
  walk.number(prefix + "host", spec.host.value);
  walk_active(walk, prefix, spec.active);
  walk_fault(walk, prefix + "does.", spec.fault);
}

void walk_world(Walk& walk, SavedWorld& saved) {
  sim::World& world = saved.world;
  walk.number("seed", saved.seed);
  walk.text("name", world.name);
  walk.number("limit", world.limit.ns);
  walk.number("invariants_every", world.invariants_every);
  walk.number("served", world.served);
  walk.list("host", world.hosts, walk_host);
  walk.list("station", world.stations, walk_station);
  walk.list("switch", world.switches,
            [](Walk& each, const std::string& prefix, sim::SwitchSpec& spec) {
              each.text(prefix + "name", spec.name);
              each.number(prefix + "addresses_max", spec.addresses_max);
            });
  if (walk.reads() || !world.routers.empty()) {
    walk.list("router", world.routers, walk_router);
  }
  walk.list("link", world.links, walk_link);
  walk.list("app", world.apps, walk_app);
  walk.list("lane_fault", world.lane_faults, walk_lane_fault);
  walk.list("host_fault", world.host_faults, walk_host_fault);
}

}  // namespace

std::string text_of(const SavedWorld& saved) {
  SavedWorld copy = saved;
  Walk walk;
  walk_world(walk, copy);
  std::string text = fmt::format("# {}\n", saved.broke);
  for (const auto& [name, value] : walk.written()) {
    text += fmt::format("{} {}\n", name, value);
  }
  return text;
}

SavedWorld read_saved_world(const std::string& text, const std::string& origin) {
  SavedWorld saved;
  std::map<std::string, Line> lines;
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (number == 1 && line.starts_with("# ")) {
      saved.broke = line.substr(2);
    } else if (!line.empty() && line[0] != '#') {
      std::size_t const space = line.find(' ');
      bool const fresh =
          space != std::string::npos &&
          lines.emplace(line.substr(0, space), Line{number, line.substr(space + 1)}).second;
      if (!fresh) {
        throw Failure(ExitCode::bad_input,
                      fmt::format("{}:{}: expected the name of a field not given before, a space "
                                  "and its value",
                                  origin, number));
      }
    }
  }
  Walk walk(std::move(lines), origin);
  walk_world(walk, saved);
  walk.finish();
  if (saved.world.hosts.empty() || saved.world.apps.empty()) {
    walk.refuse(0, "expected a world with hosts and apps; lockstep swarm --save DIR writes some");
  }
  sim::WorldFault const fault = fault_of(saved.world);
  if (!fault.none()) {
    walk.refuse(0, fmt::format("{}: {}", fault.subject.view(), fault.what));
  }
  return saved;
}

SavedWorld load_saved_world(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    throw Failure(ExitCode::bad_input, fmt::format("{}: cannot be read", path));
  }
  return read_saved_world(text.str(), path);
}

}  // namespace lockstep::tools
