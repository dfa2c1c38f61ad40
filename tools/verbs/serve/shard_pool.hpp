// Runs a role on one or several shards, with any driver.
#pragma once

#include <algorithm>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tools/verbs/serve/control.hpp"
#include "tools/verbs/serve/refuse.hpp"
#include "tools/verbs/serve/service.hpp"

namespace lockstep::tools {

/// The journals of a run, opened before it begins.
struct Journals {
  std::vector<std::unique_ptr<journal::Writer>> writers;  ///< of each shard; empty: no journal
  std::vector<std::string> kept;  ///< of each shard, as in Surroundings; empty: no such files

  std::string kept_of(ShardId shard) const {
    return kept.empty() ? std::string() : kept[shard.value];
  }
  journal::Writer* writer_of(ShardId shard) const {
    return writers.empty() ? nullptr : writers[shard.value].get();
  }
};

/// Opens --record: FILE for one shard, FILE.0 and so on for several. Throws Failure: bad input if a
/// regular file exists and `force` is not set, environment if it cannot be opened. A write that
/// fails later is reported on stderr at once. From then on a failed CHECK leaves the journals
/// complete.
Journals open_journals(const ServePlan& plan, const std::string& record, bool force);

/// The capture that the plan asks for, with its first file open, or nullptr. Throws Failure.
std::unique_ptr<Capture> capture_of(const ServePlan& plan);
/// Ends it, prints how many frames it has, and notes in `ended` whether it lacks some.
void end_capture(std::unique_ptr<Capture>& capture, Ended& ended);

/// Combines all shards: the worst ending, all files.
Ended ended_of(const std::vector<Ended>& shards);
/// One line for each file with the seconds around an event.
std::string kept_text(const Ended& ended);
/// Throws Failure: environment if the interface was deleted, or if a journal or a capture lacks
/// something; a finding if the controller has set a window out of range. Call last.
void fail_if_cut_short(const Ended& ended, const ServePlan& plan, const Journals& journals);

template <class Totals>
Ended ended_of(const std::vector<Finished<Totals>>& shards) {
  return ended_of(std::vector<Ended>(shards.begin(), shards.end()));
}

/// All shards in parallel, each in its own thread. None begins before all can.
template <class Port, class Device, Role R>
class ShardPool {
 public:
  using Results = std::vector<Finished<typename R::Totals>>;

  /// `begun` is called when all can begin and the addresses are tested, by the first shard's
  /// thread.
  ShardPool(const ServePlan& plan, const R& role, const Journals& journals,
            hw::StopSignals& signals, std::function<void()> begun)
      : plan_(plan),
        journals_(journals),
        signals_(signals),
        common_(plan, role, std::move(begun)),
        mesh_(plan.shards, plan.config.mtu + Bytes{Port::link_bytes}),
        ready_(plan.shards.value),
        troubles_(plan.shards.value),
        finished_(plan.shards.value) {}

  /// Either may be nullptr. Call before run().
  void observe(control::Listing* listing, Capture* capture) {
    common_.listing = listing;
    common_.capture = capture;
  }
  Results run(std::vector<Device> devices) {
    refuse(mesh_.open());
    for (std::uint32_t i = 0; i < plan_.shards.value; ++i) {
      threads_.emplace_back([this, i, device = std::move(devices[i])]() mutable {
        run_shard({i}, std::move(device));
      });
    }
    ready_.wait();
    hw::Trouble const trouble = first_trouble();
    go_.count_down();
    for (std::thread& each : threads_) {
      each.join();
    }
    refuse(trouble);
    return std::move(finished_);
  }

 private:
  void run_shard(ShardId self, Device device) {
    hw::Trouble& trouble = troubles_[self.value];
    if (!plan_.cpus.empty()) {
      trouble = hw::pin_to(plan_.cpus[self.value]);
    }
    Service<Port, R> service(plan_, common_.role, self, std::move(device));
    if (!trouble) {
      trouble = common_.role.start(service.app, service.stack);
    }
    hw::ShardPort<Port> port(service.port, mesh_, self, service.config.burst_frames);
    ready_.count_down();
    go_.wait();
    if (!first_trouble()) {
      Surroundings<R> const around{common_,
                                   self,
                                   signals_.seat(self.value),
                                   journals_.writer_of(self),
                                   journals_.kept_of(self),
                                   &port.counters()};
      finished_[self.value] = run_service(around, service, port);
    }
  }

  /// Call when all are ready, after which no thread writes the errors.
  hw::Trouble first_trouble() const {
    for (const hw::Trouble& each : troubles_) {
      if (each) {
        return each;
      }
    }
    return {};
  }

  const ServePlan& plan_;
  const Journals& journals_;
  hw::StopSignals& signals_;
  Common<R> common_;
  hw::Mesh mesh_;
  std::latch ready_;
  std::latch go_{1};
  std::vector<hw::Trouble> troubles_;
  Results finished_;
  std::vector<std::thread> threads_;
};

/// Runs until SIGINT, SIGTERM or SIGHUP, or until all applications have finished; returns the
/// result of each shard. `begun` is called when all checks have passed and the addresses are
/// tested. Throws Failure before that.
template <class Port, class Device, Role R>
std::vector<Finished<typename R::Totals>> run_role(const ServePlan& plan, const R& role,
                                                   std::vector<Device> devices,
                                                   const Journals& journals,
                                                   const std::function<void()>& begun) {
  hw::StopSignals signals;
  refuse(signals.open(Count{plan.shards.value}));
  Control control(plan);
  std::unique_ptr<Capture> capture = capture_of(plan);
  if (plan.confined) {
    confine_calls();
  }
  if (plan.shards.value > 1) {
    ShardPool<Port, Device, R> pool(plan, role, journals, signals, begun);
    pool.observe(control.listing(), capture.get());
    control.start();
    auto out = pool.run(std::move(devices));
    end_capture(capture, out.front());
    return out;
  }
  if (!plan.cpus.empty()) {
    refuse(hw::pin_to(plan.cpus.front()));
  }
  ShardId const self{0};
  auto const common = std::make_unique<Common<R>>(plan, role, begun);
  common->listing = control.listing();
  common->capture = capture.get();
  auto const service =
      std::make_unique<Service<Port, R>>(plan, role, self, std::move(devices.front()));
  refuse(role.start(service->app, service->stack));
  Surroundings<R> const around{
      *common, self, signals, journals.writer_of(self), journals.kept_of(self), nullptr};
  std::vector<Finished<typename R::Totals>> out;
  control.start();
  out.push_back(run_service(around, *service, service->port));
  end_capture(capture, out.front());
  return out;
}

}  // namespace lockstep::tools
