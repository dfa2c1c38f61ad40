// Opens, announces, loops, sums up.
#include "tools/serve/serve.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstring>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "core/units/check.hpp"
#include "tools/cli/failure.hpp"
#include "tools/output/draft_file.hpp"
#include "tools/serve/folder.hpp"
#include "tools/serve/open_port.hpp"
#include "tools/serve/service.hpp"
#include "tools/world/units.hpp"

namespace lockstep::tools {
namespace {

void on_failed_check(const CheckSite& site) {
  fmt::print(stderr, "lockstep: a bug of ours: CHECK({}) failed at {}:{}; please report it{}\n",
             site.condition, site.file, site.line,
             open_log == nullptr ? ", with a journal (--record) if it comes again"
                                 : " with the journal");
  if (open_log != nullptr) {
    open_log->flush();
  }
}

void announce(const ServePlan& plan, const http::Site& site, const std::string& how) {
  for (std::uint32_t i = 0; i < plan.config.address_count.value; ++i) {
    IpAddress const& address = plan.config.addresses[i].address;
    fmt::print("serving http://{}{}{}:{}/ on {}: {} paths, and /bytes/N\n",
               address.is_v4() ? "" : "[", text_of(address), address.is_v4() ? "" : "]",
               plan.server.port.value, plan.interface, grouped(site.files()));
  }
  if (!how.empty()) {
    fmt::print("{}: {}\n", plan.interface, how);
  }
  if (!plan.cpus.empty()) {
    std::uint32_t const nodes = hw::memory_nodes();
    fmt::print("memory of each shard on its processor's node: {}\n",
               nodes == 1 ? std::string("there is one") : fmt::format("there are {}", nodes));
  }
  std::fflush(stdout);
}

/// The files that the run leaves, opened before it begins, and how its interface is driven.
struct Outputs {
  std::string how;  ///< empty: there is nothing to say
  std::vector<std::unique_ptr<journal::Writer>> writers;  ///< of each shard; none: no journal
  std::vector<std::string> kept;  ///< of each shard, as Surroundings has it; none: no such files
  std::unique_ptr<DraftFile> json;

  std::string kept_of(ShardId shard) const {
    return kept.empty() ? std::string() : kept[shard.value];
  }
  journal::Writer* writer_of(ShardId shard) const {
    return writers.empty() ? nullptr : writers[shard.value].get();
  }
};

Outputs outputs_of(const ServeOptions& options) {
  Outputs outputs;
  for (std::uint32_t i = 0; !options.record.empty() && i < options.shards; ++i) {
    std::string const name =
        options.shards == 1 ? options.record : fmt::format("{}.{}", options.record, i);
    if (options.record_on.empty()) {
      outputs.writers.push_back(std::make_unique<journal::Writer>(name));
    } else {
      outputs.kept.push_back(name);
    }
  }
  if (!options.json.empty()) {
    outputs.json = std::make_unique<DraftFile>(options.json);
  }
  return outputs;
}

int conclude(const std::vector<Finished>& shards, const ServePlan& plan, const Outputs& outputs) {
  ServeTotals sum;
  std::vector<ServeTotals> each;
  hw::Ending ending = hw::Ending::stopped;
  std::string lines;
  for (std::uint32_t i = 0; i < shards.size(); ++i) {
    add(sum, shards[i].totals);
    each.push_back(shards[i].totals);
    ending = std::max(ending, shards[i].ending);
    lines += shards.size() == 1 ? "" : shard_text({i}, shards[i].totals);
  }
  for (const Finished& shard : shards) {
    for (const std::string& name : shard.kept) {
      lines += fmt::format("trouble          {}\n", name);
    }
  }
  fmt::print("{}{}", summary_text(sum), lines);
  if (outputs.json != nullptr) {
    outputs.json->put(with_shards(summary_json(sum, ending), each));
    outputs.json->keep();
  }
  if (ending == hw::Ending::gone) {
    throw Failure(ExitCode::environment,
                  fmt::format("{} was deleted while it was served: make it again, or let this "
                              "program make it",
                              plan.interface));
  }
  for (const Finished& shard : shards) {
    if (shard.kept_failed != 0) {
      throw Failure(ExitCode::environment,
                    fmt::format("--record-on: {}: seconds around a trouble were lost; make room",
                                std::strerror(shard.kept_failed)));
    }
  }
  for (auto const& writer : outputs.writers) {
    if (writer->failed() != 0) {
      throw Failure(ExitCode::environment,
                    fmt::format("{}: {}: the journal ends after {} octets; make room",
                                writer->path(), std::strerror(writer->failed()), writer->bytes()));
    }
  }
  return static_cast<int>(ExitCode::fine);
}

hw::Trouble not_listening(const ServePlan& plan, Refusal refused) {
  if (refused == Refusal::none) {
    return {};
  }
  return {hw::TroubleKind::bad_input,
          fmt::format("port {}: {}: choose another", plan.server.port.value, name_of(refused))};
}

template <class Port, class Device>
std::vector<Finished> serve_alone(const Surroundings& around, Device device,
                                  hw::StopSignals& signals, const std::string& how) {
  if (!around.plan.cpus.empty()) {
    refuse(hw::pin_to(around.plan.cpus.front()));
  }
  Service<Port> service(around.plan, around.site, around.self, std::move(device));
  refuse(not_listening(around.plan, service.server.start(service.stack)));
  announce(around.plan, around.site, how);
  return {run_service(around, service, service.port, signals, nullptr)};
}

/// All shards side by side, each in a thread of its own. None begins before all can.
template <class Port, class Device>
class Crew {
 public:
  Crew(const ServePlan& plan, const http::Site& site, const Outputs& outputs,
       hw::StopSignals& signals)
      : plan_(plan),
        site_(site),
        outputs_(outputs),
        signals_(signals),
        mesh_(plan.shards, plan.config.mtu + Bytes{Port::link_bytes}),
        board_(plan.shards),
        ready_(plan.shards.value),
        troubles_(plan.shards.value),
        finished_(plan.shards.value) {}

  std::vector<Finished> run(std::vector<Device> devices, bool board_is_read) {
    refuse(mesh_.open());
    for (std::uint32_t i = 0; i < plan_.shards.value; ++i) {
      threads_.emplace_back([this, i, board_is_read, device = std::move(devices[i])]() mutable {
        run_shard({i}, std::move(device), board_is_read);
      });
    }
    ready_.wait();
    hw::Trouble const trouble = first_trouble();
    if (!trouble) {
      announce(plan_, site_, outputs_.how);
    }
    go_.count_down();
    for (std::thread& each : threads_) {
      each.join();
    }
    refuse(trouble);
    return finished_;
  }

 private:
  void run_shard(ShardId self, Device device, bool board_is_read) {
    hw::Trouble& trouble = troubles_[self.value];
    if (!plan_.cpus.empty()) {
      trouble = hw::pin_to(plan_.cpus[self.value]);
    }
    Service<Port> service(plan_, site_, self, std::move(device));
    if (!trouble) {
      trouble = not_listening(plan_, service.server.start(service.stack));
    }
    hw::ShardPort<Port> port(service.port, mesh_, self, service.config.burst_frames);
    ready_.count_down();
    go_.wait();
    if (!first_trouble()) {
      Surroundings const around{plan_, site_, board_, self, board_is_read,
                                outputs_.writer_of(self), outputs_.kept_of(self)};
      finished_[self.value] =
          run_service(around, service, port, signals_.seat(self.value), &port.counters());
    }
  }

  /// Once all are ready: nobody writes them any more.
  hw::Trouble first_trouble() const {
    for (const hw::Trouble& each : troubles_) {
      if (each) {
        return each;
      }
    }
    return {};
  }

  const ServePlan& plan_;
  const http::Site& site_;
  const Outputs& outputs_;
  hw::StopSignals& signals_;
  hw::Mesh mesh_;
  Board<ServeTotals> board_;
  std::latch ready_;
  std::latch go_{1};
  std::vector<hw::Trouble> troubles_;
  std::vector<Finished> finished_;
  std::vector<std::thread> threads_;
};

template <class Port, class Device>
int serve(const ServePlan& plan, const http::Site& site, std::vector<Device> devices,
          const Outputs& outputs) {
  hw::StopSignals signals;
  refuse(signals.open(Count{plan.shards.value}));
  if (plan.shards.value == 1) {
    Board<ServeTotals> board(plan.shards);
    Surroundings const around{plan,
                              site,
                              board,
                              {0},
                              plan.metrics.has_value(),
                              outputs.writer_of({0}),
                              outputs.kept_of({0})};
    return conclude(
        serve_alone<Port>(around, std::move(devices.front()), signals, outputs.how), plan,
        outputs);
  }
  Crew<Port, Device> crew(plan, site, outputs, signals);
  bool const is_read = isatty(STDERR_FILENO) != 0 || plan.metrics.has_value();
  return conclude(crew.run(std::move(devices), is_read), plan, outputs);
}

}  // namespace

int run_serve_http(const ServeOptions& options) {
  ServePlan const plan = plan_of(options);
  http::Site site;
  if (!options.folder.empty()) {
    load_folder(options.folder, site);
  }
  site.complete();
  set_check_handler(on_failed_check);
  // The interface first, so that nothing is written where it cannot be had.
  return with_ports(plan, [&]<class Port, class Device>(std::type_identity<Port>,
                                                        std::vector<Device> devices,
                                                        const std::string& how) {
    Outputs outputs = outputs_of(options);
    outputs.how = how;
    return serve<Port>(plan, site, std::move(devices), outputs);
  });
}

}  // namespace lockstep::tools
