// Reads applications and faults from their tables.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>

#include "tools/base/text/suggestion.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/sim_apps/http_app.hpp"
#include "tools/lib/world_file/reader.hpp"

namespace lockstep::tools {
namespace {

constexpr std::array<std::string_view, 7> models{"bulk",        "echo",   "chatter", "half_close",
                                                 "slow_reader", "mutual", http_model};
constexpr std::uint32_t million = 1'000'000;
// Wireshark assigns no other protocol to ports from here on.
constexpr std::uint32_t first_port = 40'000;

Probability read_probability(Table& table, std::string_view key, Probability otherwise) {
  return table.parsed(key, otherwise, parse_probability,
                      "a probability in quotes, like \"0.01\" or \"1%\"");
}

std::uint32_t read_count(Table& table, std::string_view key, std::uint32_t otherwise,
                         std::uint32_t least) {
  return static_cast<std::uint32_t>(table.number(key, otherwise, {least, million}));
}

sim::CloseMode read_close_mode(Table& table) {
  const std::string word = table.text("close_mode", "finish");
  if (word == "finish") {
    return sim::CloseMode::finish;
  }
  if (word == "close") {
    return sim::CloseMode::close;
  }
  if (word == "abort") {
    return sim::CloseMode::abort;
  }
  table.wrong("close_mode", "\"" + word + "\" was found, expected finish, close or abort");
}

sim::Mask read_mask(Table& table) {
  sim::Mask mask;
  const std::string bits = table.text("mask");
  if (bits.empty() || bits.size() > sim::Mask::bits_max ||
      bits.find_first_not_of("01") != std::string::npos) {
    table.wrong("mask", fmt::format("expected a row of 1 to {} digits 0 (passes) and 1 (is lost), "
                                    "like \"00100\"",
                                    sim::Mask::bits_max));
  }
  for (std::uint32_t i = 0; i < bits.size(); ++i) {
    if (bits[i] == '1') {
      mask.lose(i);
    }
  }
  mask.bits = static_cast<std::uint32_t>(bits.size());
  mask.repeat = table.boolean("repeat", false);
  if (table.has("period")) {
    mask.period = read_count(table, "period", mask.bits, mask.bits);
    if (!mask.repeat) {
      table.wrong("period", "only a mask with repeat = true has a period");
    }
  }
  return mask;
}

sim::BurstLoss read_burst_loss(Table& table) {
  sim::BurstLoss rule;
  rule.to_bad = read_probability(table, "to_bad", {10'000'000});
  rule.to_good = read_probability(table, "to_good", {250'000'000});
  rule.good_loss = read_probability(table, "good_loss", rule.good_loss);
  rule.bad_loss = read_probability(table, "bad_loss", rule.bad_loss);
  return rule;
}

sim::Corrupt read_corrupt(Table& table, Probability probability) {
  sim::Corrupt rule{probability};
  constexpr sim::Corrupt whole{};
  if (table.has("bit")) {
    rule.first_bit = static_cast<std::uint32_t>(table.number("bit", 0, {0, 524'280}));
    rule.last_bit = rule.first_bit;
    return rule;
  }
  rule.first_bit = static_cast<std::uint32_t>(table.number("first_bit", 0, {0, 524'280}));
  rule.last_bit = static_cast<std::uint32_t>(
      table.number("last_bit", whole.last_bit, {rule.first_bit, whole.last_bit}));
  return rule;
}

sim::LaneFault read_rule(Table& table, const std::string& kind) {
  const bool chance = kind == "loss" || kind == "duplicate" || kind == "reorder" ||
                      kind == "corrupt" || kind == "substitute";
  const Probability probability =
      chance ? read_probability(table, "probability", {10'000'000}) : Probability{};
  if (kind == "loss") {
    return sim::Loss{probability};
  }
  if (kind == "burst_loss") {
    return read_burst_loss(table);
  }
  if (kind == "mask") {
    return read_mask(table);
  }
  if (kind == "duplicate") {
    return sim::Duplicate{probability, read_duration(table, "within", {})};
  }
  if (kind == "reorder") {
    return sim::Reorder{probability, read_duration(table, "hold", Duration::milliseconds(10))};
  }
  if (kind == "corrupt") {
    return read_corrupt(table, probability);
  }
  if (kind == "substitute") {
    constexpr sim::Substitute usual{};
    return sim::Substitute{probability, static_cast<std::uint32_t>(table.number(
                                            "first_byte", usual.first_byte, {0, 65'535}))};
  }
  if (kind == "delay") {
    return sim::Delay{read_duration(table, "base", {}),
                      read_duration(table, "jitter", {}),
                      table.boolean("keep_order", true),
                      {}};
  }
  return sim::Partition{};
}

sim::Active read_active(Table& table) {
  sim::Active active;
  active.from = Instant{0} + read_duration(table, "from", {});
  active.until = Instant{0} + read_duration(table, "until", Duration::forever());
  active.every = read_duration(table, "every", {});
  active.lasting = read_duration(table, "lasting", {});
  if (active.until <= active.from) {
    table.wrong("until", "expected a time after 'from'");
  }
  if (active.every.ns != 0 && (active.lasting.ns == 0 || active.lasting > active.every)) {
    table.wrong("every",
                "expected 'lasting' beside it, longer than nothing and not longer than "
                "'every'");
  }
  return active;
}

void read_lane_fault(Table& table, const std::string& kind, WorldInProgress& into,
                     sim::LaneFaultSpec spec) {
  const std::string link = table.text("link");
  const auto found = into.links.find(link);
  if (found == into.links.end()) {
    std::vector<std::string> names;
    for (const auto& [each, index] : into.links) {
      names.push_back(each);
    }
    table.wrong("link", fmt::format("there is no link '{}'{}, expected one of: {}", link,
                                    suggestion(link, names), fmt::join(names, ", ")));
  }
  spec.link = found->second;
  const std::string direction = table.text("direction", "both");
  if (direction != "both" && direction != "forward" && direction != "back") {
    table.wrong("direction", "\"" + direction + "\" was found, expected both, forward or back");
  }
  spec.forward = direction != "back";
  spec.back = direction != "forward";
  spec.fault = read_rule(table, kind);
  table.end();
  into.world.lane_faults.push_back(spec);
}

void claim_name(Table& table, sim::Name name, std::set<std::string>& taken) {
  if (!taken.emplace(name.view()).second) {
    table.wrong("name", fmt::format("'{}' is taken, expected a new name", name.view()));
  }
}

/// Whether `from` can send frames towards `to`.
bool reaches(const sim::World& world, sim::HostIndex from, sim::HostIndex to) {
  const Config& config = world.hosts[from.value].config;
  const HostAddress& mine = config.addresses[0];
  const IpAddress other = world.hosts[to.value].config.addresses[0].address;
  const std::uint32_t bits = mine.prefix_bits + (mine.address.is_v4() ? 96u : 0u);
  const bool leads = !config.gateway.is_unspecified() || config.route_count.value != 0;
  return mine.address.is_v4() == other.is_v4() &&
         (config.link == LinkType::ip || leads || common_bits({mine.address, other}) >= bits);
}

/// The HTTP server lends from the region that the kernel's own models would use.
void check_regions(Table& table, const sim::AppSpec& app, const sim::World& world) {
  if (app.model.view() == http_model) {
    for (const sim::HostIndex at : {app.client, app.server}) {
      if (world.hosts[at.value].config.regions_max < http_regions) {
        table.wrong("model", fmt::format("http needs regions_max of {} on host '{}': raise it",
                                         http_regions.value, world.hosts[at.value].name.view()));
      }
    }
  }
  for (const sim::AppSpec& each : world.apps) {
    for (const auto& [http, lends] : {std::pair(&app, &each), std::pair(&each, &app)}) {
      if (http->model.view() == http_model && lends->model.view() != http_model && lends->lend &&
          (lends->client == http->server || lends->server == http->server)) {
        table.wrong("name",
                    fmt::format("app '{}' cannot lend on host '{}', where http serves: "
                                "expected lend = false, or another host",
                                lends->name.view(), world.hosts[http->server.value].name.view()));
      }
    }
  }
}

/// Reads what does not depend on where the application runs.
void read_details(Table& table, sim::AppSpec& app, const WorldInProgress& into) {
  const auto usual = static_cast<std::uint16_t>(first_port + into.world.apps.size() +
                                                into.world.station_apps.size());
  app.port = {static_cast<std::uint16_t>(table.number("port", usual, {1, 65'535}))};
  read_time_or_draw(table, "start", app.start, app.draws.start);
  app.flows = read_count(table, "flows", app.flows, 1);
  app.repeat = read_count(table, "repeat", app.repeat, 1);
  app.stagger = read_duration(table, "stagger", app.stagger);
  read_size_or_draw(table, "bytes", app.bytes, app.draws.bytes);
  app.reply_bytes = read_bytes(table, "reply_bytes", app.reply_bytes);
  app.rounds = read_count(table, "rounds", app.rounds, 0);
  read_time_or_draw(table, "think", app.think, app.draws.think);
  app.draws.arrivals = read_arrivals(table);
  app.read_bytes = read_bytes(table, "read_bytes", app.read_bytes);
  app.read_every = read_duration(table, "read_every", app.read_every);
  app.read_after = read_duration(table, "read_after", app.read_after);
  app.lend = table.boolean("lend", app.lend);
  app.urgent_every = read_count(table, "urgent_every", app.urgent_every, 0);
  app.fast_open = read_count(table, "fast_open", app.fast_open, 0);
  app.close_mode = read_close_mode(table);
  check_draws(table, app);
}

}  // namespace

void read_app(Table& table, WorldInProgress& into) {
  sim::AppSpec app;
  app.name = read_name(table, "app");
  claim_name(table, app.name, into.apps);
  const std::string model = table.text("model");
  if (std::find(models.begin(), models.end(), model) == models.end()) {
    table.wrong("model", fmt::format("\"{}\" was found, expected one of: {}", model,
                                     fmt::join(models, ", ")));
  }
  app.model = sim::Name(model);
  const sim::NodeRef client = node_named(table, "from", into);
  const sim::NodeRef server = node_named(table, "to", into);
  const bool foreign = is_device(into.world, client) || is_device(into.world, server);
  app.client = is_device(into.world, client) ? sim::HostIndex{} : host_named(table, "from", into);
  app.server = is_device(into.world, server) ? sim::HostIndex{} : host_named(table, "to", into);
  if (client == server) {
    table.wrong("to", "expected another host than 'from'");
  }
  if (foreign) {
    read_details(table, app, into);
    add_device_app(table, {app, client, server}, into);
    table.end();
    return;
  }
  if (into.world.routers.empty() && (!reaches(into.world, app.client, app.server) ||
                                     !reaches(into.world, app.server, app.client))) {
    table.wrong("to",
                "the two hosts are in different networks, expected one prefix for both: "
                "there are no routers here, add a [[router]]");
  }
  read_details(table, app, into);
  for (const sim::AppSpec& each : into.world.apps) {
    if (each.server == app.server && each.port == app.port) {
      table.wrong("port", fmt::format("{} is taken by app '{}' on that host, expected another",
                                      app.port.value, each.name.view()));
    }
  }
  check_regions(table, app, into.world);
  table.end();
  into.world.apps.push_back(app);
}

void read_fault(Table& table, WorldInProgress& into) {
  const sim::Name name = read_name(table, "fault");
  claim_name(table, name, into.faults);
  const std::string kind = table.text("kind");
  std::vector<std::string_view> kinds;
  for (std::uint32_t i = 0; i < sim::fault_kind_count; ++i) {
    kinds.push_back(sim::name_of(static_cast<sim::FaultKind>(i)));
  }
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    table.wrong("kind",
                fmt::format("\"{}\" was found, expected one of: {}", kind, fmt::join(kinds, ", ")));
  }
  const sim::Active active = read_active(table);
  if (kind == "ring_full" || kind == "stall") {
    sim::HostFaultSpec spec{name, host_named(table, "host", into), active, sim::Stall{}};
    if (kind == "ring_full") {
      spec.fault = sim::RingFull{};
    }
    table.end();
    into.world.host_faults.push_back(spec);
    return;
  }
  sim::LaneFaultSpec spec;
  spec.name = name;
  spec.active = active;
  read_lane_fault(table, kind, into, spec);
}

}  // namespace lockstep::tools
