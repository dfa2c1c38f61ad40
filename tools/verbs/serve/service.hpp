// One shard of a server or a load: its stack, port and application, and the loop over them.
#pragma once

#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/poll/clock.hpp"
#include "hw/poll/loop.hpp"
#include "hw/shards/port.hpp"
#include "tools/base/output/event_log.hpp"
#include "tools/lib/control/listing.hpp"
#include "tools/lib/http/page.hpp"
#include "tools/lib/journal/begin.hpp"
#include "tools/lib/journal/recorder.hpp"
#include "tools/verbs/serve/address_watch.hpp"
#include "tools/verbs/serve/board.hpp"
#include "tools/verbs/serve/captured.hpp"
#include "tools/verbs/serve/live.hpp"
#include "tools/verbs/serve/metrics.hpp"
#include "tools/verbs/serve/plan.hpp"

namespace lockstep::tools {

/// What runs on every shard; one object is shared by all. App: the application, one per shard;
/// Totals: its counters, which include ShardTotals.
template <class R>
concept Role = std::derived_from<typename R::Totals, ShardTotals> &&
               requires(const R role, typename R::App app, const typename R::App seen, Stack& stack,
                        Instant now, ShardId self, Count most, typename R::Totals totals,
                        std::vector<typename R::Totals> shards, journal::Writer& writer,
                        const journal::Run& run) {
                 { role.app(self, most) } -> std::same_as<typename R::App>;
                 { role.start(app, stack) } -> std::same_as<hw::Trouble>;
                 { role.count(seen, now, totals) } -> std::same_as<void>;
                 { role.moment(totals) } -> std::same_as<Moment>;
                 { role.metrics(shards) } -> std::same_as<std::string>;
                 { role.write_parts(writer, run, self) } -> std::same_as<void>;
                 // True when the application has finished. When all have, the shards are asked to
                 // stop.
                 { R::is_over(seen) } -> std::same_as<bool>;
               };

/// A role whose state can be snapshotted, for --record-on.
template <class R>
concept KeptRole = requires(const typename R::App app) {
  { R::resets(app) } -> std::same_as<std::uint64_t>;
  { app.snapshot() } -> std::same_as<std::vector<std::byte>>;
};

struct ArenaLine {
  alignas(64) std::array<std::byte, 64> bytes;
};

/// The calling thread's journal, so that a failed CHECK leaves it complete.
inline thread_local journal::TurnLog* open_log = nullptr;

/// Everything that lives as long as a shard's run. Constructed by the shard's thread, so that its
/// memory is on that thread's NUMA node.
template <class Port, Role R>
struct Service {
  template <class Device>
  Service(const ServePlan& plan, const R& role, ShardId self, Device device)
      : config(plan.config_of(self)),
        memory(Stack::arena_bytes(config) / sizeof(ArenaLine) + 1),
        stack(config, std::as_writable_bytes(std::span(memory))),
        port(std::move(device), {config.mtu, burst_of(plan), plan.interface}),
        app(role.app(self, config.tcp.connections_max)) {}

  /// With several shards the other half of a burst comes from the other shards.
  static Count burst_of(const ServePlan& plan) {
    Count const whole = plan.config.burst_frames;
    return plan.shards.value == 1 ? whole : Count{std::max(1u, whole.value / 2)};
  }

  Config config;
  std::vector<ArenaLine> memory;
  Stack stack;
  Port port;
  typename R::App app;
};

/// Processor time of the calling thread.
inline Duration processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return Duration::seconds(static_cast<std::uint64_t>(now.tv_sec)) +
         Duration{static_cast<std::uint64_t>(now.tv_nsec)};
}

template <class Port, Role R>
typename R::Totals totals_of(const R& role, Service<Port, R>& service, Instant now) {
  typename R::Totals totals;
  totals.lasted = now.since(hw::MonotonicClock::first());
  totals.stack = service.stack.statistics();
  totals.port = service.port.counters();
  PoolUse const pools = service.stack.pools();
  totals.time_wait = pools.time_wait;
  totals.half_open = pools.half_open;
  totals.processor = processor_time();
  role.count(service.app, now, totals);
  return totals;
}

/// What all shards of a run share.
template <Role R>
struct Common {
  /// `on_begun` is called once, when the addresses are tested.
  Common(const ServePlan& run_plan, const R& run_role, std::function<void()> on_begun)
      : plan(run_plan),
        role(run_role),
        begun(std::move(on_begun)),
        published(run_plan.shards),
        at_work(run_plan.shards.value),
        draws(isatty(STDERR_FILENO) != 0) {}

  std::vector<typename R::Totals> all() const {
    std::vector<typename R::Totals> out;
    for (std::uint32_t i = 0; i < published.shards().value; ++i) {
      out.push_back(published.read({i}));
    }
    return out;
  }

  const ServePlan& plan;
  const R& role;
  std::function<void()> begun;
  PublishedTotals<typename R::Totals> published;
  std::atomic<std::uint32_t> at_work;   ///< shards whose application has not finished
  bool draws;                           ///< draw the live table, on a terminal
  control::Listing* listing = nullptr;  ///< none: there is no control socket
  Capture* capture = nullptr;           ///< none: nothing is captured
};

/// What one shard runs with, besides its service.
template <Role R>
struct Surroundings {
  Common<R>& common;
  ShardId self;
  hw::StopSeat& signals;
  journal::Writer* writer;         ///< none: no continuous journal
  std::string kept;                ///< file for the seconds around events; empty: none
  const hw::ShardCounters* shard;  ///< none if there is only one shard
};

/// Waits until the addresses are tested, and stops the run if another host has one of them.
/// Publishes the shard's counters each second if they are needed; on the first shard draws the live
/// table of all shards, on a terminal; asks all shards to stop when the last application has
/// finished; and passes the journal on before each sleep.
template <class Port, Role R>
class Reporter {
 public:
  Reporter(const Surroundings<R>& around, Service<Port, R>& service, journal::TurnLog* log)
      : around_(around),
        service_(service),
        log_(log),
        addresses_(service.stack),
        draws_(around.common.draws && around.self == ShardId{0}),
        writes_(around.common.draws || around.common.plan.metrics) {}

  Instant due() const {
    if (is_listing()) {
      return Instant{};
    }
    if (!begun_) {
      return next_test_;
    }
    if (R::is_over(service_.app) && !is_over_) {
      return Instant{};
    }
    return writes_ ? due_ : Instant::never();
  }
  /// Readable while the control socket wants something.
  int descriptor() const {
    control::Listing const* const listing = around_.common.listing;
    return listing == nullptr ? -1 : listing->descriptor(around_.self);
  }
  void look(Instant now) {
    if (is_listing()) {
      around_.common.listing->give(around_.self, service_.stack);
    }
    if (!begun_) {
      begin(now);
    }
    if (R::is_over(service_.app) && !is_over_) {
      is_over_ = true;
      if (around_.common.at_work.fetch_sub(1) == 1) {
        around_.signals.ask();
      }
    }
    if (!writes_ || now < due_) {
      return;
    }
    write(now);
    if (draws_) {
      std::vector<Moment> moments;
      for (auto const& each : around_.common.all()) {
        moments.push_back(around_.common.role.moment(each));
      }
      table_.draw(moments);
    }
    due_ = now + Duration::seconds(1);
  }
  void sleeping() {
    if (around_.self == ShardId{0}) {
      std::string const news = addresses_.news(service_.port.now());
      if (!news.empty()) {
        log_event({LogLevel::warning, "address_conflict", news});
      }
    }
    if (log_ != nullptr) {
      log_->flush();
    }
  }

  /// Addresses that another host has; empty if there are none.
  const std::string& duplicates() const { return duplicates_; }

 private:
  bool is_listing() const {
    control::Listing const* const listing = around_.common.listing;
    return listing != nullptr && listing->is_wanted(around_.self);
  }
  void begin(Instant now) {
    if (now < next_test_) {
      return;
    }
    if (!addresses_.decided()) {
      next_test_ = now + Duration::milliseconds(5);
      return;
    }
    begun_ = true;
    duplicates_ = addresses_.duplicates();
    if (!duplicates_.empty()) {
      around_.signals.ask();
    } else if (around_.self == ShardId{0}) {
      around_.common.begun();
    }
  }
  void write(Instant now) {
    auto totals = totals_of(around_.common.role, service_, now);
    if (around_.shard != nullptr) {
      totals.shard = *around_.shard;
    }
    around_.common.published.write(around_.self, totals);
  }

  const Surroundings<R>& around_;
  Service<Port, R>& service_;
  journal::TurnLog* log_;
  AddressWatch addresses_;
  std::string duplicates_;
  Instant next_test_;
  bool begun_ = false;
  bool draws_;
  bool writes_;
  bool is_over_ = false;
  LiveTable table_;
  Instant due_ = hw::MonotonicClock::first() + Duration::seconds(1);
};

/// How a shard ended.
struct Ended {
  hw::Ending ending = hw::Ending::stopped;
  std::vector<std::string> kept;  ///< files with the seconds around events
  int kept_failed = 0;            ///< the errno of the first that could not be written
  std::string duplicates;         ///< addresses of ours that another host had first
  tcp::ControllerFault fault;     ///< of the controller of --controller
  std::string not_captured;       ///< what is said of frames that --pcapng left out
};

template <class Totals>
struct Finished : Ended {
  Totals totals;
};

inline std::uint64_t unix_ns() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
}

/// The journal of one shard: of everything, of the seconds around events, or none.
template <class Port, Role R>
class Notes {
 public:
  Notes(const Surroundings<R>& around, Service<Port, R>& service)
      : service_(service),
        writer_(around.writer),
        run_{service.config, around.common.plan.interface, unix_ns() - service.port.now().ns} {
    const R& role = around.common.role;
    if constexpr (KeptRole<R>) {
      if (!around.kept.empty()) {
        flight_recorder_ = std::make_unique<journal::FlightRecorder>(
            around.kept, *around.common.plan.record_on, service.stack,
            journal::KeptApplication{[&service] { return R::resets(service.app); },
                                     [&service] { return service.app.snapshot(); },
                                     [this, &role, self = around.self](journal::Writer& writer) {
                                       role.write_parts(writer, run_, self);
                                     }});
        log_.emplace(flight_recorder_->writer(), service.config.frames_per_turn);
      }
    }
    if (writer_ != nullptr) {
      role.write_parts(*writer_, run_, around.self);
      log_.emplace(*writer_, service.config.frames_per_turn);
      open_log = &*log_;
    }
  }
  ~Notes() { open_log = nullptr; }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;

  journal::TurnLog* log() { return log_ ? &*log_ : nullptr; }
  journal::FlightRecorder* flight_recorder() { return flight_recorder_.get(); }

  /// Call after the last turn. Returns the number of octets written.
  std::uint64_t finish(Ended& out) {
    if (flight_recorder_ != nullptr) {
      log_->catch_up();
      flight_recorder_->finish();
      out.kept = flight_recorder_->files();
      out.kept_failed = flight_recorder_->failed();
      return flight_recorder_->bytes();
    }
    if (log_) {
      log_->finish(service_.stack.fingerprint());
    }
    return writer_ != nullptr ? writer_->bytes() : 0;
  }

 private:
  Service<Port, R>& service_;
  journal::Writer* writer_;
  journal::Run run_;
  std::optional<journal::TurnLog> log_;
  std::unique_ptr<journal::FlightRecorder> flight_recorder_;
};

/// The page of metrics, if requested: from the published counters of all shards.
template <Role R>
http::PageSettings metrics_page(const Common<R>& common) {
  http::PageSettings page;
  page.unix_ns = unix_ns() - hw::MonotonicClock::first().since(Instant{}).ns;
  page.local = {common.plan.metrics->address, common.plan.metrics->port, {}};
  page.path = "/metrics";
  page.type = metrics_type;
  page.text = [&common] { return common.role.metrics(common.all()); };
  return page;
}

/// Runs the loop until it is stopped. If the journal cannot be written any more, the loop
/// continues, and the error is reported at the end. `port`: the service's own, or a wrapper around
/// it.
template <class Port, class Driver, Role R>
Finished<typename R::Totals> run_service(const Surroundings<R>& around, Service<Port, R>& service,
                                         Driver& bare) {
  const ServePlan& plan = around.common.plan;
  Captured<Driver> port(bare, service.stack, around.common.capture, around.self);
  Finished<typename R::Totals> out;
  hw::LoopCounters counters;
  Notes<Port, R> notes(around, service);
  Reporter<Port, R> reporter(around, service, notes.log());
  auto const run = [&](auto& driver, auto& app) {
    hw::Loop loop(service.stack, driver, app, reporter, around.signals, plan.loop);
    out.ending = loop.run();
    counters = loop.counters();
  };
  if (notes.log() != nullptr) {
    journal::Recorder recorder(port, *notes.log(), service.stack, notes.flight_recorder());
    journal::Noted noted(service.app, *notes.log());
    run(recorder, noted);
  } else if (plan.metrics) {
    http::PageServer page(metrics_page(around.common));
    Refusal const refused = page.start(service.stack);
    CHECK(refused == Refusal::none);  // the port and the address were checked before
    http::WithPage both(service.app, page);
    run(port, both);
  } else {
    run(port, service.app);
  }
  std::uint64_t const journal_bytes = notes.finish(out);
  out.duplicates = reporter.duplicates();
  out.fault = service.stack.controller_fault();
  out.totals = totals_of(around.common.role, service, service.port.now());
  out.totals.loop = counters;
  out.totals.shard = around.shard == nullptr ? hw::ShardCounters{} : *around.shard;
  out.totals.journal_bytes = journal_bytes;
  return out;
}

}  // namespace lockstep::tools
