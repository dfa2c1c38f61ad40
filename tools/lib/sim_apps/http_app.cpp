// Two models, each around an application that also runs on a real wire.
#include "tools/lib/sim_apps/http_app.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "core/units/check.hpp"
#include "tools/lib/http/server.hpp"
#include "tools/lib/load/client.hpp"
#include "tools/lib/sim_apps/app_ledger.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"

namespace lockstep::tools {
namespace {

using sim::Desk;

// A request waits for its response as long as its connection lives: only TCP's timeouts apply.
constexpr Duration patience = Duration::seconds(24 * 3'600);
// The delay before listening is retried when the stack has no room.
constexpr Duration between_tries = Duration::milliseconds(100);

/// The pattern alone. It never changes, so all hosts of all kernels may lend from one copy.
const http::Site& pattern_site() {
  struct Complete : http::Site {
    Complete() { complete(); }
  };
  static const Complete site;
  return site;
}

load::CloseMode close_mode_of(sim::CloseMode close_mode) {
  switch (close_mode) {
    case sim::CloseMode::finish:
      return load::CloseMode::server;
    case sim::CloseMode::close:
      return load::CloseMode::client;
    case sim::CloseMode::abort:
      break;
  }
  return load::CloseMode::reset;
}

load::LoadPlan plan_of(const sim::World& world, const sim::AppSpec& app) {
  load::LoadPlan plan;
  IpAddress const server = world.hosts[app.server.value].config.addresses[0].address;
  plan.targets = {{{server, app.port}, std::string(world.hosts[app.server.value].name.view())}};
  load::Item item;
  item.name = fmt::format("/bytes/{}", app.reply_bytes);
  item.length = app.reply_bytes;
  item.is_pattern = true;
  plan.catalogue.items = {item};
  plan.connections = app.flows;
  plan.requests_a_connection = std::max(app.rounds, 1u);
  plan.requests = std::uint64_t{app.flows} * app.repeat * plan.requests_a_connection;
  plan.connects_a_second =
      app.stagger.ns == 0 ? 0 : std::max<std::uint64_t>(1'000'000'000 / app.stagger.ns, 1);
  plan.think = app.think;
  plan.close_mode = close_mode_of(app.close_mode);
  plan.timeout = patience;
  return plan;
}

Count connections_of(const sim::World& world, sim::HostIndex host) {
  return world.hosts[host.value].config.tcp.connections_max;
}

class HttpClient final : public sim::Model {
 public:
  HttpClient(const sim::World& world, const sim::AppSpec& app)
      : start_(app.start),
        client_(plan_of(world, app), pattern_site(), connections_of(world, app.client)),
        ledger_(app.name) {}

  void on_event(Desk& desk, const Event& event) override {
    ledger_.on_event(desk, event);
    std::uint64_t const wrong = wrong_answers();
    client_.on_event(desk.stack, event);
    if (wrong_answers() != wrong) {
      ledger_.spoilt(desk, event.id);
    }
    book_calls(desk);
  }

  void run(Desk& desk) override {
    if (begins_.is_never()) {
      begins_ = desk.now + start_;
      client_.start(desk.stack);
    }
    if (desk.now >= begins_) {
      has_begun_ = true;
      client_.run(desk.stack, desk.now);
      book_calls(desk);
    }
  }

  void turned(Desk& desk, bool) override { ledger_.turned(desk); }
  Instant deadline() const override {
    return has_begun_ ? client_.deadline() : begins_.is_never() ? Instant{0} : begins_;
  }
  bool done() const override { return client_.finished(); }
  std::unique_ptr<sim::Model> clone() const override { return std::make_unique<HttpClient>(*this); }

 private:
  /// Responses that arrived but were wrong, as opposed to missing ones.
  std::uint64_t wrong_answers() const {
    std::uint64_t sum = 0;
    for (load::Fault const fault :
         {load::Fault::status, load::Fault::malformed, load::Fault::wrong_length,
          load::Fault::wrong_body, load::Fault::unasked}) {
      sum += client_.counters().faults[static_cast<std::uint32_t>(fault)];
    }
    return sum;
  }

  void book_calls(Desk& desk) {
    if (client_.calls() != booked_) {
      booked_ = client_.calls();
      client_.visit_connections([&](ConnectionId id) { ledger_.called(desk, id); });
    }
  }

  Duration start_;
  Instant begins_ = Instant::never();
  bool has_begun_ = false;
  load::Client client_;
  std::uint64_t booked_ = 0;
  AppLedger ledger_;
};

class HttpServer final : public sim::Model {
 public:
  HttpServer(const sim::World& world, const sim::AppSpec& app)
      : server_(pattern_site(), settings_of(world, app), connections_of(world, app.server)),
        ledger_(app.name) {}

  void on_event(Desk& desk, const Event& event) override {
    ledger_.on_event(desk, event);
    server_.on_event(desk.stack, event);
  }
  void run(Desk& desk) override {
    if (!listens_ && desk.now >= next_try_) {
      listens_ = server_.start(desk.stack) == Refusal::none;
      next_try_ = desk.now + between_tries;
      if (listens_) {
        desk.routes.listen(server_.listener(), desk.model);
      }
    }
    server_.run(desk.stack, desk.now);
  }
  void turned(Desk& desk, bool) override { ledger_.turned(desk); }
  Instant deadline() const override { return listens_ ? server_.deadline() : next_try_; }
  bool done() const override { return server_.done(); }
  std::unique_ptr<sim::Model> clone() const override { return std::make_unique<HttpServer>(*this); }

 private:
  static http::ServerSettings settings_of(const sim::World& world, const sim::AppSpec& app) {
    http::ServerSettings settings;
    settings.port = app.port;
    std::uint32_t const most = connections_of(world, app.server).value;
    settings.backlog = {Count{std::min(most, 65'535u)}, Count::unlimited()};
    return settings;
  }

  bool listens_ = false;
  Instant next_try_{0};
  http::Server server_;
  AppLedger ledger_;
};

std::unique_ptr<sim::Model> make_http(const sim::World& world, const sim::AppSpec& app,
                                      sim::Role role) {
  if (role == sim::Role::server) {
    return std::make_unique<HttpServer>(world, app);
  }
  return std::make_unique<HttpClient>(world, app);
}

}  // namespace

void add_http(sim::Registry& registry) { registry.add_model(http_model, make_http); }

sim::Registry world_registry() {
  sim::Registry out = with_nics(sim::Registry::standard());
  add_http(out);
  return out;
}

}  // namespace lockstep::tools
