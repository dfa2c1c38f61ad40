// One shard of a server: its stack, its port, its application, and the loop over them.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/poll/clock.hpp"
#include "hw/poll/loop.hpp"
#include "hw/shards/port.hpp"
#include "tools/journal/http_parts.hpp"
#include "tools/journal/recorder.hpp"
#include "tools/http/page.hpp"
#include "tools/serve/board.hpp"
#include "tools/serve/metrics.hpp"
#include "tools/serve/plan.hpp"
#include "tools/serve/summary.hpp"

namespace lockstep::tools {

struct ArenaLine {
  alignas(64) std::array<std::byte, 64> bytes;
};

/// Of the calling thread, while a journal is kept: so that a failed CHECK leaves it whole.
inline thread_local journal::TurnLog* open_log = nullptr;

/// Everything that lives as long as the server does. Made by the thread that runs it, so that its
/// memory lies where that one does.
template <class Port>
struct Service {
  template <class Device>
  Service(const ServePlan& plan, const http::Site& site, ShardId self, Device device)
      : config(plan.config_of(self)),
        memory(Stack::arena_bytes(config) / sizeof(ArenaLine) + 1),
        stack(config, std::as_writable_bytes(std::span(memory))),
        port(std::move(device), {config.mtu, burst_of(plan)}),
        server(site, plan.server, config.tcp.connections_max) {}

  /// Of several shards the other half of a burst comes from the siblings.
  static Count burst_of(const ServePlan& plan) {
    Count const whole = plan.config.burst_frames;
    return plan.shards.value == 1 ? whole : Count{std::max(1u, whole.value / 2)};
  }

  Config config;
  std::vector<ArenaLine> memory;
  Stack stack;
  Port port;
  http::Server server;
};

template <class Port>
ServeTotals totals_of(Service<Port>& service, Instant now) {
  ServeTotals totals;
  totals.lasted = now.since(Instant{} + hw::MonotonicClock::start);
  totals.stack = service.stack.statistics();
  totals.server = service.server.counters();
  totals.port = service.port.counters();
  totals.open = service.server.open();
  return totals;
}

/// Puts the shard's counters on the board each second where somebody reads them; draws the line of
/// all of them on a terminal, if it is the first; and hands the journal over before each sleep.
template <class Port>
class Reporter {
 public:
  struct Where {
    Service<Port>& service;
    Board<ServeTotals>& board;
    ShardId self;
    bool read;                             // somebody reads the board
    const hw::ShardCounters* shard;        // none of a lone one
    journal::TurnLog* log;                 // none: no journal is kept
  };
  explicit Reporter(const Where& where)
      : where_(where), draws_(where.self == ShardId{0} && isatty(STDERR_FILENO) != 0) {}
  ~Reporter() {
    if (drawn_) {
      fmt::print(stderr, "\r\x1b[K");
    }
  }
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  Instant due() const { return where_.read || draws_ ? due_ : Instant::never(); }
  void look(Instant now) {
    write(now);
    if (draws_) {
      ServeTotals sum;
      for (std::uint32_t i = 0; i < where_.board.shards().value; ++i) {
        add(sum, where_.board.read({i}));
      }
      fmt::print(stderr, "\r\x1b[K{}", live_line(last_, sum));
      drawn_ = true;
      last_ = sum;
    }
    due_ = now + Duration::seconds(1);
  }
  void sleeping() {
    if (where_.log != nullptr) {
      where_.log->flush();
    }
  }

 private:
  void write(Instant now) {
    ServeTotals totals = totals_of(where_.service, now);
    if (where_.shard != nullptr) {
      totals.shard = *where_.shard;
    }
    where_.board.write(where_.self, totals);
  }

  Where where_;
  bool draws_;
  bool drawn_ = false;
  Instant due_ = Instant{} + hw::MonotonicClock::start + Duration::seconds(1);
  ServeTotals last_;
};

struct Finished {
  hw::Ending ending = hw::Ending::stopped;
  ServeTotals totals;
  std::vector<std::string> kept;  ///< files with the seconds around a trouble
  int kept_failed = 0;            ///< the error number of the first that could not be written
};

inline std::uint64_t unix_ns() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
}

/// What a shard runs with, besides what is its own.
struct Surroundings {
  const ServePlan& plan;
  const http::Site& site;
  Board<ServeTotals>& board;
  ShardId self;
  bool board_is_read;
  journal::Writer* writer;      // none: no journal of everything
  std::string kept;             // where the seconds around a trouble are written; empty: nowhere
};

template <class Port>
journal::KeptApplication kept_application(const Surroundings& around, Service<Port>& service,
                                          std::uint64_t origin) {
  return {[&service] {
            return service.server.counters().ends[static_cast<std::uint32_t>(Cause::reset)];
          },
          [&service] { return service.server.snapshot(); },
          [&around, &service, origin](journal::Writer& writer) {
            write_parts(writer, service.config, around.plan.server, around.site,
                        around.plan.interface, origin);
          }};
}

/// The page of the metrics, where they are asked for: of the board, which all shards write.
inline http::PageSettings metrics_page(const Surroundings& around) {
  http::PageSettings page;
  page.local = {around.plan.metrics->address, around.plan.metrics->port, {}};
  page.path = "/metrics";
  page.type = metrics_type;
  page.text = [&board = around.board] {
    std::vector<ServeTotals> shards;
    for (std::uint32_t i = 0; i < board.shards().value; ++i) {
      shards.push_back(board.read({i}));
    }
    return metrics_text(shards);
  };
  return page;
}

/// Loops until it is stopped. A journal that cannot be written any more is no reason to stop: it is
/// told at the end. `port`: the service's own, or what stands around it.
template <class Port, class Driver>
Finished run_service(const Surroundings& around, Service<Port>& service, Driver& port,
                     hw::StopSeat& signals, const hw::ShardCounters* shard) {
  std::optional<journal::TurnLog> log;
  Finished out;
  hw::LoopCounters counters;
  std::uint64_t const origin = unix_ns() - service.port.now().ns;
  std::unique_ptr<journal::Keeper> keeper;
  if (!around.kept.empty()) {
    keeper = std::make_unique<journal::Keeper>(around.kept, *around.plan.record_on, service.stack,
                                               kept_application(around, service, origin));
    log.emplace(keeper->writer(), service.config.frames_per_turn);
  }
  if (around.writer != nullptr) {
    write_parts(*around.writer, service.config, around.plan.server, around.site,
                around.plan.interface, origin);
    log.emplace(*around.writer, service.config.frames_per_turn);
    open_log = &*log;
  }
  {
    Reporter<Port> reporter({service, around.board, around.self, around.board_is_read, shard,
                             log ? &*log : nullptr});
    if (log) {
      journal::Recorder recorder(port, *log, service.stack, keeper.get());
      journal::Noted noted(service.server, *log);
      hw::Loop loop(service.stack, recorder, noted, reporter, signals, around.plan.loop);
      out.ending = loop.run();
      counters = loop.counters();
    } else if (around.plan.metrics) {
      http::PageServer page(metrics_page(around));
      Refusal const refused = page.start(service.stack);
      CHECK(refused == Refusal::none);  // the port is another one, and the address ours
      http::WithPage both(service.server, page);
      hw::Loop loop(service.stack, port, both, reporter, signals, around.plan.loop);
      out.ending = loop.run();
      counters = loop.counters();
    } else {
      hw::Loop loop(service.stack, port, service.server, reporter, signals, around.plan.loop);
      out.ending = loop.run();
      counters = loop.counters();
    }
  }
  open_log = nullptr;
  if (keeper != nullptr) {
    log->catch_up();
    keeper->finish();
    out.kept = keeper->files();
    out.kept_failed = keeper->failed();
  } else if (log) {
    log->finish(service.stack.fingerprint());
  }
  out.totals = totals_of(service, service.port.now());
  out.totals.loop = counters;
  out.totals.shard = shard == nullptr ? hw::ShardCounters{} : *shard;
  out.totals.journal_bytes = keeper != nullptr          ? keeper->bytes()
                             : around.writer != nullptr ? around.writer->bytes()
                                                        : 0;
  return out;
}

}  // namespace lockstep::tools
