// The echo and memcached servers as roles, and their counters.
#include "tools/verbs/serve/plain.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/event_log.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/journal/load_parts.hpp"
#include "tools/lib/load/cache_server.hpp"
#include "tools/lib/load/echo_server.hpp"
#include "tools/verbs/serve/listening.hpp"
#include "tools/verbs/serve/metrics_page.hpp"
#include "tools/verbs/serve/open_port.hpp"
#include "tools/verbs/serve/shard_pool.hpp"
#include "tools/verbs/serve/summary.hpp"

namespace lockstep::tools {
namespace {

struct PlainTotals : ShardTotals {
  std::uint64_t connections = 0;
  std::uint64_t answers = 0;  ///< answers of memcached
  std::uint32_t open = 0;
};

/// Copies the server's own counters.
void count_app(const load::EchoServer& app, PlainTotals& totals) {
  totals.connections = app.counters().connections;
}
void count_app(const load::CacheServer& app, PlainTotals& totals) {
  totals.connections = app.counters().connections;
  totals.answers = app.counters().answers;
}

/// A server without files: each shard has one, with the same settings.
template <class Server, class Settings>
struct PlainRole {
  using App = Server;
  using Totals = PlainTotals;

  App app(ShardId, Count connections_max) const { return App(settings, connections_max); }
  hw::Trouble start(App& app, Stack& stack) const { return not_listening(plan, app.start(stack)); }
  void count(const App& app, Instant, Totals& totals) const {
    count_app(app, totals);
    totals.open = app.open();
  }
  Moment moment(const Totals& totals) const {
    Moment out;
    static_cast<ShardTotals&>(out) = totals;
    out.connections = totals.connections;
    out.requests = totals.answers;
    out.octets = totals.stack.tcp.bytes_sent;
    out.open = totals.open;
    return out;
  }
  std::string metrics(const std::vector<Totals>& shards) const {
    MetricsPage<Totals> page(shards);
    page.gauge("connections_open", "Open connections.", [](const Totals& t) { return t.open; });
    page.counter("connections_total", "Connections accepted.",
                 [](const Totals& t) { return t.connections; });
    page.counter("answers_total", "Commands answered (0 for echo).",
                 [](const Totals& t) { return t.answers; });
    page.add_shard();
    return page.text;
  }
  void write_parts(journal::Writer& writer, const journal::Run& run, ShardId) const {
    journal::write_parts(writer, run, settings);
  }
  static bool is_over(const App&) { return false; }

  const ServePlan& plan;
  const Settings& settings;
};

void announce(std::string_view scheme, const ServePlan& plan, const std::string& how) {
  for (std::uint32_t i = 0; i < plan.config.address_count.value; ++i) {
    IpAddress const& address = plan.config.addresses[i].address;
    fmt::print("serving {}://{}{}{}:{} on {}{}\n", scheme, address.is_v4() ? "" : "[",
               text_of(address), address.is_v4() ? "" : "]", plan.server.port.value, plan.interface,
               how.empty() ? "" : fmt::format(" ({})", how));
  }
  std::fflush(stdout);
  log_event({LogLevel::info, "serving", "serving on " + plan.interface},
            {{"interface", plan.interface},
             {"port", std::uint64_t{plan.server.port.value}},
             {"shards", std::uint64_t{plan.shards.value}}});
}

void sum_up(const std::vector<Finished<PlainTotals>>& shards, AtomicFile* json) {
  ShardTotals sum;
  std::uint64_t connections = 0;
  for (auto const& each : shards) {
    add(sum, each.totals);
    connections += each.totals.connections;
  }
  log_event(
      {LogLevel::info, "ended", "the server has ended"},
      {{"ending", std::string(name_of(ended_of(shards).ending))}, {"connections", connections}});
  fmt::print(
      "{} connections; frames {} in, {} out; {} retransmissions; slept {} times in {} "
      "turns\n",
      grouped(connections), grouped(sum.port.frames_in), grouped(sum.port.frames_out),
      grouped(sum.stack.tcp.retransmissions), grouped(sum.loop.slept), grouped(sum.loop.turns));
  if (sum.journal_bytes != 0) {
    fmt::print("journal {} octets\n", grouped(sum.journal_bytes));
  }
  if (json == nullptr) {
    return;
  }
  nlohmann::ordered_json out{{"connections", connections},
                             {"frames_in", sum.port.frames_in},
                             {"frames_out", sum.port.frames_out},
                             {"retransmissions", sum.stack.tcp.retransmissions},
                             {"turns", sum.loop.turns},
                             {"slept", sum.loop.slept},
                             {"journal_octets", sum.journal_bytes}};
  out["shards"] = nlohmann::ordered_json::array();
  for (auto const& each : shards) {
    out["shards"].push_back({{"connections", each.totals.connections},
                             {"frames_in", each.totals.port.frames_in},
                             {"frames_out", each.totals.port.frames_out},
                             {"forwarded", each.totals.shard.forwarded}});
  }
  json->put(json_text(out));
  json->keep();
}

template <class R>
int serve(std::string_view scheme, const ServePlan& plan, const R& role,
          const ServeOptions& options) {
  return with_ports(
      plan, [&]<class Port, class Device>(std::type_identity<Port>, std::vector<Device> devices,
                                          const std::string& how) {
        Journals const journals = open_journals(plan, options.record, options.force);
        std::unique_ptr<AtomicFile> json;
        if (!options.json.empty()) {
          json = std::make_unique<AtomicFile>(options.json);
        }
        auto const shards = run_role<Port>(plan, role, std::move(devices), journals,
                                           [&] { announce(scheme, plan, how); });
        sum_up(shards, json.get());
        fail_if_cut_short(ended_of(shards), plan, journals);
        return static_cast<int>(ExitCode::fine);
      });
}

}  // namespace

int run_serve_plain(PlainServer what, const ServeOptions& options) {
  ServePlan plan = plan_of(options);
  plan.role = what == PlainServer::echo ? "serve echo" : "serve cache";
  if (what == PlainServer::echo) {
    load::EchoSettings const settings{plan.server.port, plan.server.backlog};
    return serve("echo", plan, PlainRole<load::EchoServer, load::EchoSettings>{plan, settings},
                 options);
  }
  load::CacheSettings settings;
  settings.port = plan.server.port;
  settings.backlog = plan.server.backlog;
  return serve("memcached", plan, PlainRole<load::CacheServer, load::CacheSettings>{plan, settings},
               options);
}

}  // namespace lockstep::tools
