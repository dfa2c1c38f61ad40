// A world that runs step by step, with Python as the application of its hosts.
#include "tools/python/simulation.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>

#include "sim/kernel/registry.hpp"
#include "sim/kernel/snapshot.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/sim_apps/app_ledger.hpp"
#include "tools/lib/sim_apps/http_app.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"

namespace lockstep::tools::python {
namespace {

/// The Python application of a host: stores events, and acts between the turns.
class FromOutside final : public sim::Model {
 public:
  void on_event(sim::Desk& desk, const Event& event) override {
    sim::Routes::Route const* const route = desk.routes.find(event.id);
    if (event.kind == EventKind::accepted || (route != nullptr && route->flow != sim::FlowId{})) {
      ledger_.on_event(desk, event);
    }
    inbox.on_event(desk.stack, {desk.world_now, event});
  }
  void run(sim::Desk& desk) override {
    note_opened(desk);
    inbox.run(desk.stack);
  }
  void turned(sim::Desk& desk, bool) override { ledger_.turned(desk); }
  Instant deadline() const override { return Instant::never(); }
  bool done() const override { return true; }
  std::unique_ptr<sim::Model> clone() const override {
    return std::make_unique<FromOutside>(*this);
  }

  Inbox inbox;
  std::vector<ConnectionId> opened;  // since the last turn

 private:
  /// Python opens a connection between turns, where the ledger cannot be written.
  void note_opened(sim::Desk& desk) {
    for (ConnectionId const id : opened) {
      if (desk.stack.inspect(id).exists) {
        ledger_.called(desk, id);
      }
    }
    opened.clear();
  }

  AppLedger ledger_{sim::Name("calls")};
};

FromOutside& outside_of(sim::Host& host) {
  return static_cast<FromOutside&>(*host.models()[host.otherwise().value]);
}

/// A node whose frames Python sends and receives.
class Tap final : public sim::Station {
 public:
  void arrived(sim::StationDesk& desk, std::span<const std::byte> frame) override {
    if (in.size() == Simulation::frames_max) {
      in.pop_front();
    }
    in.push_back({desk.now(), {frame.begin(), frame.end()}});
  }
  void run(sim::StationDesk& desk) override {
    for (auto const& frame : out) {
      desk.send(frame);
    }
    out.clear();
  }
  Instant deadline() const override { return out.empty() ? Instant::never() : Instant{0}; }
  std::unique_ptr<sim::Station> clone() const override { return std::make_unique<Tap>(*this); }

  std::deque<Simulation::Arrived> in;
  std::vector<std::vector<std::byte>> out;
};

std::unique_ptr<sim::Station> make_tap(const sim::World&, const sim::StationSpec&, Random) {
  return std::make_unique<Tap>();
}

/// The largest frame that a link of the world can carry, Ethernet header included.
std::uint32_t largest_frame(const sim::World& world) {
  std::uint32_t most = 1'500;
  for (sim::HostSpec const& host : world.hosts) {
    most = std::max(most, host.config.mtu.count);
  }
  return most + 14;
}

sim::World with_taps(const SimulationSpec& spec) {
  sim::World world = spec.world;
  for (std::string const& name : spec.taps) {
    for (sim::StationSpec& station : world.stations) {
      if (station.name.view() == name) {
        station.model = "tap";
      }
    }
  }
  return world;
}

sim::Registry registry() {
  sim::Registry out = sim::Registry::standard();
  out.add_station("tap", make_tap);
  add_nics(out);
  add_http(out);
  return out;
}

}  // namespace

class Simulation::Frames final : public sim::Observer {
 public:
  void sent(const sim::Kernel&, const sim::FrameNote& note) override { add(note, "sent"); }
  void delivered(const sim::Kernel&, const sim::FrameNote& note) override { add(note, "received"); }
  void dropped(const sim::Kernel&, const sim::FrameNote& note, sim::LinkDrop why) override {
    add(note, sim::name_of(why));
  }
  std::deque<FrameSeen> frames;

 private:
  void add(const sim::FrameNote& note, std::string_view what) {
    if (frames.size() == frames_max) {
      frames.pop_front();
    }
    frames.push_back({note.at, note.node, what, {note.bytes.begin(), note.bytes.end()}});
  }
};

class Simulation::Capture final : public sim::ByteSink {
 public:
  void put(std::span<const std::byte> some) override {
    bytes.insert(bytes.end(), some.begin(), some.end());
  }
  std::vector<std::byte> bytes;
};

class Simulation::Series {
 public:
  explicit Series(sim::Kernel& kernel)
      : recorder(kernel, {&tables[0], &tables[1], &tables[2], &tables[3]}) {
    kernel.observe(recorder);
  }

  std::array<Capture, table_files.size()> tables;
  Recorder recorder;
};

Simulation::Simulation(const SimulationSpec& spec)
    : frame_bytes_max_(largest_frame(spec.world)),
      kernel_(std::make_unique<sim::Kernel>(with_taps(spec), spec.seed, registry())) {
  for (std::uint32_t i = 0; i < kernel_->host_count(); ++i) {
    sim::Host& host = kernel_->host({i});
    host.set_otherwise({static_cast<std::uint32_t>(host.models().size())});
    host.models().push_back(std::make_unique<FromOutside>());
  }
  if (spec.record) {
    frames_ = std::make_unique<Frames>();
    kernel_->observe(*frames_);
  }
  if (spec.trace) {
    sink_ = std::make_unique<Capture>();
    trace_ = std::make_unique<sim::Trace>(kernel_->world(), *sink_);
    kernel_->observe(*trace_);
  }
  if (spec.series) {
    series_ = std::make_unique<Series>(*kernel_);
  }
}

Simulation::~Simulation() = default;

bool Simulation::step() {
  bool const more = kernel_->step();
  if (series_) {
    series_->recorder.stepped(*kernel_);
  }
  return more;
}

sim::Ending Simulation::run() {
  ending_ = kernel_->run();
  return *ending_;
}

std::string_view Simulation::ending() const { return ending_ ? sim::name_of(*ending_) : "running"; }

std::string_view Simulation::table(Table which) const {
  if (!series_) {
    throw Failure(ExitCode::bad_input, "there are no time series: expected Sim(series=True)");
  }
  auto const& bytes = series_->tables[static_cast<std::size_t>(which)].bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<FrameSeen> Simulation::take_frames() {
  if (!frames_) {
    throw Failure(ExitCode::bad_input, "frames are not kept: expected Sim(record=True)");
  }
  std::vector<FrameSeen> out(std::make_move_iterator(frames_->frames.begin()),
                             std::make_move_iterator(frames_->frames.end()));
  frames_->frames.clear();
  return out;
}

const std::vector<std::byte>& Simulation::pcapng() const {
  if (!sink_) {
    throw Failure(ExitCode::bad_input, "there is no capture: expected Sim(trace=True)");
  }
  return sink_->bytes;
}

std::string Simulation::name_of(sim::NodeRef node) const {
  sim::World const& world = kernel_->world();
  switch (node.kind) {
    case sim::NodeKind::host:
      return std::string(world.hosts[node.index].name.view());
    case sim::NodeKind::station:
      return std::string(world.stations[node.index].name.view());
    case sim::NodeKind::learning_switch:
      return std::string(world.switches[node.index].name.view());
    case sim::NodeKind::router:
      return std::string(world.routers[node.index].name.view());
  }
  return "";
}

sim::HostIndex Simulation::host_named(const std::string& name) const {
  auto const& hosts = kernel_->world().hosts;
  std::vector<std::string_view> names;
  for (std::uint32_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].name.view() == name) {
      return {i};
    }
    names.push_back(hosts[i].name.view());
  }
  throw Failure(ExitCode::bad_input, fmt::format("there is no host '{}', expected one of: {}", name,
                                                 fmt::join(names, ", ")));
}

std::uint32_t Simulation::tap_named(const std::string& name) const {
  auto const& stations = kernel_->world().stations;
  for (std::uint32_t i = 0; i < stations.size(); ++i) {
    if (stations[i].name.view() == name && stations[i].model == sim::Name("tap")) {
      return i;
    }
  }
  throw Failure(ExitCode::bad_input, fmt::format("there is no tap '{}'", name));
}

void Simulation::send(std::uint32_t tap, Packet frame) {
  if (frame.empty() || frame.size() > frame_bytes_max_) {
    throw Failure(ExitCode::bad_input, fmt::format("a frame has {} bytes, expected 1 to {}",
                                                   frame.size(), frame_bytes_max_));
  }
  static_cast<Tap&>(kernel_->station(tap)).out.emplace_back(frame.begin(), frame.end());
  kernel_->wake({sim::NodeKind::station, tap});
}

std::vector<Simulation::Arrived> Simulation::take_arrived(std::uint32_t tap) {
  auto& in = static_cast<Tap&>(kernel_->station(tap)).in;
  std::vector<Arrived> out(std::make_move_iterator(in.begin()), std::make_move_iterator(in.end()));
  in.clear();
  return out;
}

void Simulation::refuse_sockets() const {
  for (std::uint32_t i = 0; i < kernel_->host_count(); ++i) {
    sim::Host const& host = kernel_->host({i});
    static_cast<const FromOutside&>(*host.models()[host.otherwise().value]).inbox.refuse_sockets();
  }
}

std::shared_ptr<const Simulation::Snapshot> Simulation::snapshot() const {
  refuse_sockets();
  auto out = std::make_shared<Snapshot>();
  out->kernel = kernel_->snapshot();
  out->ending = ending_;
  if (series_) {
    out->recorded = series_->recorder.state();
    for (std::size_t i = 0; i < out->lengths.size(); ++i) {
      out->lengths[i] = series_->tables[i].bytes.size();
    }
  }
  return out;
}

void Simulation::restore(const Snapshot& snapshot) {
  refuse_sockets();
  kernel_->restore(*snapshot.kernel);
  ending_ = snapshot.ending;
  if (series_) {
    series_->recorder.restore(snapshot.recorded);
    for (std::size_t i = 0; i < snapshot.lengths.size(); ++i) {
      series_->tables[i].bytes.resize(snapshot.lengths[i]);
    }
  }
}

Inbox& SimHost::inbox() { return outside_of(host()).inbox; }

void SimHost::opened(ConnectionId id) {
  host().state().routes.add({id, {}, sim::Side::opener, host().otherwise(), 0});
  outside_of(host()).opened.push_back(id);
}

}  // namespace lockstep::tools::python
