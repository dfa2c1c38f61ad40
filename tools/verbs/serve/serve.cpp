// Opens the interface, serves, and prints the summary.
#include "tools/verbs/serve/serve.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "hw/interface.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/event_log.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/journal/http_parts.hpp"
#include "tools/verbs/serve/answer_book.hpp"
#include "tools/verbs/serve/folder.hpp"
#include "tools/verbs/serve/listening.hpp"
#include "tools/verbs/serve/open_port.hpp"
#include "tools/verbs/serve/shard_pool.hpp"
#include "tools/verbs/serve/summary.hpp"

namespace lockstep::tools {
namespace {

/// Without a router only clients on the link get answers: names them, and the kernel's router.
void tell_gateway(const ServePlan& plan) {
  for (std::uint32_t i = 0; i < plan.config.address_count.value; ++i) {
    HostAddress const& ours = plan.config.addresses[i];
    if (plan.port != PortKind::tap && ours.address.is_v4() &&
        plan.config.gateway.is_unspecified()) {
      auto const router = hw::kernel_router(plan.interface);
      fmt::print("no --gateway: clients outside of {}/{} get no answer{}\n", text_of(ours.address),
                 ours.prefix_bits,
                 router ? fmt::format("; the kernel's router on {} is {}", plan.interface,
                                      text_of(*router))
                        : "");
    }
  }
}

void announce(const ServePlan& plan, const http::Site& site, const std::string& how) {
  for (std::uint32_t i = 0; i < plan.config.address_count.value; ++i) {
    IpAddress const& address = plan.config.addresses[i].address;
    fmt::print("serving http://{}{}{}:{}/ on {}: {} paths, and /bytes/N\n",
               address.is_v4() ? "" : "[", text_of(address), address.is_v4() ? "" : "]",
               plan.server.port.value, plan.interface, grouped(site.files()));
  }
  log_event({LogLevel::info, "serving", "serving on " + plan.interface},
            {{"interface", plan.interface},
             {"port", std::uint64_t{plan.server.port.value}},
             {"paths", site.files()},
             {"shards", std::uint64_t{plan.shards.value}}});
  if (!how.empty()) {
    fmt::print("{}: {}\n", plan.interface, how);
  }
  if (!plan.cpus.empty()) {
    std::uint32_t const nodes = hw::memory_nodes();
    fmt::print("memory of each shard on the NUMA node of its processor: {}\n",
               nodes == 1 ? std::string("there is one") : fmt::format("there are {}", nodes));
  }
  tell_gateway(plan);
  std::fflush(stdout);
}

std::string log_text(const AccessLog* log) {
  if (log == nullptr) {
    return {};
  }
  return fmt::format("access log       {} lines{}\n", grouped(log->lines()),
                     log->lost() == 0 ? "" : fmt::format(", {} lost", grouped(log->lost())));
}

/// Throws Failure (environment) if lines were lost, for whatever reason.
void fail_if_lines_are_lost(const AccessLog* log) {
  if (log != nullptr && log->lost() != 0) {
    throw Failure(ExitCode::environment, lost_lines_text(log->path(), log->lost(), log->lost_to()));
  }
}

/// `log`: finished, or nullptr.
int conclude(const std::vector<Finished<ServeTotals>>& shards, const ServePlan& plan,
             const Journals& journals, const AccessLog* log, AtomicFile* json) {
  ServeTotals sum;
  std::vector<ServeTotals> each;
  std::string lines;
  for (std::uint32_t i = 0; i < shards.size(); ++i) {
    add(sum, shards[i].totals);
    each.push_back(shards[i].totals);
    lines += shards.size() == 1 ? "" : shard_text({i}, shards[i].totals);
  }
  Ended const ended = ended_of(shards);
  log_event({LogLevel::info, "ended", "the server has ended"},
            {{"ending", std::string(name_of(ended.ending))},
             {"connections", sum.server.connections},
             {"requests", sum.server.requests}});
  fmt::print("{}{}{}{}", summary_text(sum), lines, kept_text(ended), log_text(log));
  if (json != nullptr) {
    std::string const text = with_shards(summary_json(sum, ended.ending), each);
    json->put(log == nullptr ? text : with_access_log(text, log->lines(), log->lost()));
    json->keep();
  }
  fail_if_cut_short(ended, plan, journals);
  fail_if_lines_are_lost(log);
  return static_cast<int>(ExitCode::fine);
}

/// The settings with the time of day, for the Date field. The clock of a shard's port begins now.
http::ServerSettings with_clock(http::ServerSettings server) {
  server.unix_ns = unix_ns() - hw::MonotonicClock::first().since(Instant{}).ns;
  return server;
}

/// The web server: one on every shard, over the same site.
struct HttpRole {
  using App = http::Server;
  using Totals = ServeTotals;

  App app(ShardId self, Count connections_max) const {
    App out(site, server, connections_max);
    out.observe(books[self.value].get());
    return out;
  }
  hw::Trouble start(App& app, Stack& stack) const { return not_listening(plan, app.start(stack)); }
  void count(const App& app, Instant, Totals& totals) const {
    totals.server = app.counters();
    totals.open = app.open();
    const auto& book = static_cast<const AnswerBook&>(*app.observer());
    totals.latency = book.latency();
    totals.rtt = book.rtt();
  }
  Moment moment(const Totals& totals) const {
    Moment out;
    static_cast<ShardTotals&>(out) = totals;
    out.connections = totals.server.connections;
    out.requests = totals.server.requests;
    out.octets = totals.stack.tcp.bytes_sent;
    out.errors = errors_of(totals.server);
    out.open = totals.open;
    out.latency = totals.latency;
    out.rtt = totals.rtt;
    return out;
  }
  std::string metrics(const std::vector<Totals>& shards) const { return metrics_text(shards); }
  void write_parts(journal::Writer& writer, const journal::Run& run, ShardId) const {
    journal::write_parts(writer, run, server, site, place);
  }
  static bool is_over(const App&) { return false; }
  static std::uint64_t resets(const App& app) {
    return app.counters().ends[static_cast<std::uint32_t>(Cause::reset)];
  }

  const ServePlan& plan;
  const http::Site& site;
  journal::SitePlace place;
  http::ServerSettings server;
  const std::vector<std::unique_ptr<AnswerBook>>& books;  // of each shard
};

std::vector<std::unique_ptr<AnswerBook>> new_books(const ServePlan& plan, AccessLog* log,
                                                   std::uint64_t unix_ns) {
  std::vector<std::unique_ptr<AnswerBook>> out;
  for (std::uint32_t i = 0; i < plan.shards.value; ++i) {
    out.push_back(std::make_unique<AnswerBook>(ShardId{i}, log, unix_ns));
  }
  return out;
}

std::unique_ptr<AccessLog> access_log_of(const ServeOptions& options, const ServePlan& plan) {
  if (options.access_log.empty()) {
    return nullptr;
  }
  // Before the file exists: a program that rotates it may send SIGHUP at once.
  AccessLog::heed_hangup();
  auto const format =
      options.access_format == "common" ? AccessFormat::common : AccessFormat::combined;
  return std::make_unique<AccessLog>(options.access_log, format, plan.shards);
}

static_assert(KeptRole<HttpRole>);

}  // namespace

int run_serve_http(const ServeOptions& options) {
  ServePlan const plan = plan_of(options);
  http::Site site;
  if (!options.folder.empty()) {
    load_folder(options.folder, site);
  }
  site.complete();
  // The interface first, so that no file is written if it cannot be opened.
  return with_ports(
      plan, [&]<class Port, class Device>(std::type_identity<Port>, std::vector<Device> devices,
                                          const std::string& how) {
        Journals const journals = open_journals(plan, options.record, options.force);
        std::unique_ptr<AtomicFile> json;
        if (!options.json.empty()) {
          json = std::make_unique<AtomicFile>(options.json);
        }
        auto const place = options.embed ? journal::SitePlace::journal : journal::SitePlace::folder;
        http::ServerSettings const server = with_clock(plan.server);
        auto const log = access_log_of(options, plan);
        auto const books = new_books(plan, log.get(), server.unix_ns);
        HttpRole const role{plan, site, place, server, books};
        auto const shards = run_role<Port>(plan, role, std::move(devices), journals,
                                           [&] { announce(plan, site, how); });
        if (log != nullptr) {
          log->finish();
        }
        return conclude(shards, plan, journals, log.get(), json.get());
      });
}

}  // namespace lockstep::tools
