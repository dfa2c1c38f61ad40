// The kernel's steps: frame arrivals, station actions, host turns, timers.
#include "sim/kernel/kernel.hpp"

#include <algorithm>

#include "core/units/hash.hpp"
#include "sim/kernel/shard_port.hpp"
#include "sim/kernel/spread.hpp"

namespace lockstep::sim {
namespace {

// A stack that takes this many consecutive turns at its deadline without doing anything is stuck.
constexpr std::uint32_t idle_turns_max = 256;

// The kernel that stepped last, for current_run(); it affects no run.
const Kernel* running = nullptr;

// The application that turn() runs: passes each event to the model that owns the connection.
class ModelsOfHost {
 public:
  ModelsOfHost(Host& host, Desk desk) : host_(host), desk_(desk) {}

  void on_event(Stack&, const Event& event) {
    desk_.watch.each([&](Observer& observer, const Kernel& kernel) {
      observer.on_event(kernel, desk_.host, event);
    });
    ModelIndex model;
    if (event.kind == EventKind::accepted) {
      model = desk_.routes.model_of(event.listener);
    } else if (Routes::Route const* const route = desk_.routes.find(event.id); route != nullptr) {
      model = route->model;
    }
    model = model == ModelIndex{} ? host_.otherwise() : model;
    CHECK(model != ModelIndex{});
    desk_.model = model;
    host_.models()[model.value]->on_event(desk_, event);
  }

  void run(Stack&, Instant) {
    for (std::uint32_t i = 0; i < host_.models().size(); ++i) {
      desk_.model = {i};
      host_.models()[i]->run(desk_);
    }
  }

  void turned(bool by_clock) {
    for (std::uint32_t i = 0; i < host_.models().size(); ++i) {
      desk_.model = {i};
      host_.models()[i]->turned(desk_, by_clock);
    }
  }

 private:
  Host& host_;
  Desk desk_;
};

static_assert(Application<ModelsOfHost>);

// The link of a NIC's MAC: the host's lane.
class LinkOfHost final : public NicLink {
 public:
  explicit LinkOfHost(const PortTurn& turn)
      : turn_(turn), lane_(turn.bus.lane_from({NodeKind::host, turn.host.index().value})) {}

  void send(std::span<const std::byte> bytes) override {
    FrameId const frame = turn_.bus.frames().take();
    auto const room = turn_.bus.frames().room(frame);
    CHECK(bytes.size() <= room.size());
    std::copy(bytes.begin(), bytes.end(), room.begin());
    put_on_link(turn_, frame, static_cast<std::uint32_t>(bytes.size()));
  }
  std::uint32_t waiting() override { return turn_.bus.lane(lane_).waiting(turn_.now); }
  Instant first_departure() const override { return turn_.bus.lane(lane_).first_departure(); }

 private:
  PortTurn turn_;
  LaneId lane_;
};

template <class Port>
Outcome turn_on(const PortTurn& with, Port& port, ModelsOfHost& models) {
  if (with.host.spec().shards() == 1) {
    return turn(with.host.stack(), port, models);
  }
  HostState const& state = with.host.state();
  std::uint64_t const before = state.frames_forwarded;
  ShardPort<Port> shard(port, with);
  Outcome const outcome = turn(with.host.stack(), shard, models);
  return outcome == Outcome::idle && state.frames_forwarded != before ? Outcome::worked : outcome;
}

Outcome turn_on_nic(const PortTurn& with, ModelsOfHost& models) {
  LinkOfHost link(with);
  NicMoment const moment{with.now, with.local_now, link};
  Nic& nic = *with.host.nic();
  nic.turn_begins(moment);
  NicPort port(nic, with.host.ring_full(with.now));
  Outcome const outcome = turn_on(with, port, models);
  nic.turn_ends(moment);
  return outcome;
}

}  // namespace

Kernel::Kernel(const World& world, std::uint64_t seed, const Registry& registry)
    : world_(with_keys(world, seed)),
      seed_(seed),
      root_(seed),
      watch_(*this),
      bus_(world, Random(seed).fork("bus")) {
  running = this;
  CHECK(fault_of(world_).none());
  for (std::uint32_t i = 0; i < world.hosts.size(); ++i) {
    hosts_.push_back(std::make_unique<Host>(world_.hosts[i], HostIndex{i}));
    hosts_[i]->bind(pattern_);
    if (NicSpec const& nic = world.hosts[i].nic; !nic.plain()) {
      NicMaker const maker = registry.nic(nic.driver);
      CHECK(maker != nullptr);
      hosts_[i]->set_nic(nic_for(world.hosts[i], maker));
      CHECK(hosts_[i]->nic() != nullptr);
    }
  }
  for (const HostFaultSpec& spec : world.host_faults) {
    hosts_[spec.host.value]->add({spec.active, spec.fault});
  }
  make_models(registry);
  for (std::uint32_t i = 0; i < world.stations.size(); ++i) {
    const StationSpec& spec = world.stations[i];
    StationMaker const maker = registry.station(spec.model);
    CHECK(maker != nullptr);
    stations_.push_back(maker(world, spec, root_.fork("station").fork(spec.name.view())));
    station_due_.push_back(Instant::never());
    schedule_station(i);
  }
  for (auto& each : hosts_) {
    want_turn(*each, Instant{0});
  }
}

Kernel::~Kernel() {
  if (running == this) {
    running = nullptr;
  }
}

void Kernel::make_models(const Registry& registry) {
  for (AppSpec& app : world_.apps) {
    app.draws.stream = root_.fork("apps").fork(app.name.view());
    ModelMaker const maker = registry.model(app.model);
    CHECK(maker != nullptr);
    // Each shard of the client runs its share of the flows; each shard of the server listens.
    HostSpec const& client = world_.hosts[app.client.value];
    for (std::uint32_t shard = 0; shard < client.shards() && shard < app.flows; ++shard) {
      HostIndex const at = client.shards() == 1 ? app.client : client.sibling({shard});
      hosts_[at.value]->models().push_back(
          maker(world_, share_of(app, {shard}, {client.shards()}), Role::client));
    }
    HostSpec const& server = world_.hosts[app.server.value];
    for (std::uint32_t shard = 0; shard < server.shards(); ++shard) {
      HostIndex const at = server.shards() == 1 ? app.server : server.sibling({shard});
      hosts_[at.value]->models().push_back(maker(world_, app, Role::server));
    }
  }
  for (const StationAppSpec& each : world_.station_apps) {
    ModelMaker const maker = registry.model(each.app.model);
    CHECK(maker != nullptr);
    if (each.client.kind == NodeKind::host) {
      hosts_[each.client.index]->models().push_back(maker(world_, each.app, Role::client));
    }
    if (each.server.kind == NodeKind::host) {
      hosts_[each.server.index]->models().push_back(maker(world_, each.app, Role::server));
    }
  }
}

bool Kernel::step() {
  if (schedule_.empty() || station_failed_) {
    return false;
  }
  running = this;
  Entry const entry = schedule_.take();
  CHECK(entry.at >= now_);
  now_ = entry.at;
  ++steps_;
  switch (entry.kind()) {
    case Kind::arrival:
      arrive(FrameId{entry.subject});
      break;
    case Kind::station:
      if (station_due_[entry.subject] == entry.at) {
        run_station(entry.subject);
      }
      break;
    case Kind::turn:
      turn_host(*hosts_[entry.subject]);
      break;
    case Kind::timer:
      timer_of_host(*hosts_[entry.subject], entry.at);
      break;
    case Kind::output:
      bus_.run_output({now_, {entry.subject}, {}}, schedule_, watch_);
      break;
  }
  return true;
}

void Kernel::run_until(Instant until) {
  while (!schedule_.empty() && schedule_.first().at <= until && step()) {
  }
}

void Kernel::advance_to(Instant until) {
  run_until(until);
  now_ = later(now_, until);
}

void Kernel::wake(NodeRef node) {
  CHECK(node.kind == NodeKind::host || node.kind == NodeKind::station);
  if (node.kind == NodeKind::host) {
    want_turn(*hosts_[node.index], now_);
  } else {
    schedule_station(node.index);
  }
}

Ending Kernel::run() {
  Instant const limit = Instant{0} + world_.limit;
  Ending ending = Ending::completed;
  while (!done()) {
    if (schedule_.empty()) {
      ending = Ending::deadlocked;
      break;
    }
    if (schedule_.first().at > limit) {
      ending = Ending::limit_reached;
      break;
    }
    step();
  }
  end();
  return station_failed_ ? Ending::failed : ending;
}

void Kernel::end() {
  if (!ended_) {
    ended_ = true;
    watch_.each([](Observer& observer, const Kernel& kernel) { observer.ended(kernel); });
  }
}

std::string_view Kernel::fault() const {
  for (auto const& station : stations_) {
    if (!station->fault().empty()) {
      return station->fault();
    }
  }
  return {};
}

bool Kernel::done() const {
  if (station_failed_) {
    return true;
  }
  // Starts at the model that was not done last time: usually one call.
  while (undone_host_ < hosts_.size()) {
    auto const& models = hosts_[undone_host_]->models();
    while (undone_model_ < models.size() && models[undone_model_]->done()) {
      ++undone_model_;
    }
    if (undone_model_ < models.size()) {
      return false;
    }
    undone_model_ = 0;
    ++undone_host_;
  }
  // A server that was done may have accepted a connection since: ask all models once more.
  undone_host_ = 0;
  for (auto const& each : hosts_) {
    for (auto const& model : each->models()) {
      if (!model->done()) {
        return false;
      }
    }
  }
  return std::all_of(stations_.begin(), stations_.end(),
                     [](auto const& station) { return station->done(); });
}

// Shards share the NIC of the first shard; so do hosts on the links of one NIC.
std::unique_ptr<Nic> Kernel::nic_for(const HostSpec& spec, NicMaker maker) {
  ShardId const shard{spec.config.tcp.shard.value};
  if (shard.value != 0) {
    return hosts_[spec.shard_first.value]->nic()->worker(shard);
  }
  if (spec.nic_link != 0) {
    return hosts_[spec.nic_first.value]->nic()->link(spec.nic_link);
  }
  return maker(spec, root_.fork("card").fork(spec.name.view()));
}

void Kernel::arrive(FrameId frame) {
  NodeRef const end = bus_.end_of({bus_.frames().lane(frame)});
  HostIndex first;
  switch (end.kind) {
    case NodeKind::host:
      arrive_at_host(frame, {end.index});
      break;
    case NodeKind::station:
      arrive_at_station(frame, end.index);
      break;
    case NodeKind::learning_switch:
      if (bus_.reaches_port(frame, first) && host(first).nic() != nullptr) {
        arrive_at_nic(frame, host(first));
      } else {
        bus_.forward(now_, frame, schedule_, watch_);
      }
      break;
    case NodeKind::router:
      bus_.route(now_, frame, schedule_, watch_);
      break;
  }
}

void Kernel::arrive_at_host(FrameId frame, HostIndex index) {
  Host& at = *hosts_[index.value];
  if (at.spec().shards() != 1) {
    arrive_at_shard(frame, at);
    return;
  }
  HostState& state = at.state();
  bool const room = at.nic() != nullptr ? nic_takes(at, frame).taken
                                        : state.received.size() < at.spec().receive_ring;
  if (!room) {
    bus_.drop(now_, frame, LinkDrop::receive_ring_full, watch_);
    return;
  }
  LaneId const lane{bus_.frames().lane(frame)};
  bus_.lane(lane).count_delivered(bus_.frames().length(frame));
  if (!watch_.empty()) {
    FrameNote const note{
        now_, {NodeKind::host, index.value}, lane.value, bus_.frames().bytes(frame)};
    watch_.each(
        [&](Observer& observer, const Kernel& kernel) { observer.delivered(kernel, note); });
  }
  ++state.frames_received;
  if (at.nic() != nullptr) {
    bus_.frames().give(frame);
  } else {
    state.received.push_back(frame);
  }
  want_turn(at, now_);
}

NicTaking Kernel::nic_takes(Host& at, FrameId frame) {
  PortTurn const with = port_turn(at);
  LinkOfHost link(with);
  return at.nic()->arrive({now_, with.local_now, link}, bus_.frames().bytes(frame));
}

// A NIC that several shards share stores the frame now; the frame sent on to the chosen worker only
// notifies it.
void Kernel::arrive_at_nic(FrameId frame, Host& first) {
  NicTaking const taking = nic_takes(first, frame);
  if (taking.taken) {
    bus_.steer({now_, frame, taking.worker}, schedule_, watch_);
  } else {
    bus_.drop(now_, frame, LinkDrop::receive_ring_full, watch_);
  }
}

// The frame came from the wire or from another shard; the turn that takes it finds out whose it is.
void Kernel::arrive_at_shard(FrameId frame, Host& at) {
  HostState& state = at.state();
  bool const handed = bus_.frames().handed(frame);
  bool const in_nic = at.nic() != nullptr && !handed;
  std::vector<FrameId>& queue = handed ? state.given : state.received;
  if (!in_nic && queue.size() >= at.spec().receive_ring) {
    bus_.drop(now_, frame, LinkDrop::receive_ring_full, watch_);
    return;
  }
  bus_.lane({bus_.frames().lane(frame)}).count_delivered(bus_.frames().length(frame));
  if (in_nic) {
    bus_.frames().give(frame);
  } else {
    queue.push_back(frame);
  }
  want_turn(at, now_);
}

void Kernel::arrive_at_station(FrameId frame, std::uint32_t index) {
  LaneId const lane{bus_.frames().lane(frame)};
  bus_.lane(lane).count_delivered(bus_.frames().length(frame));
  NodeRef const node{NodeKind::station, index};
  FrameNote const note{now_, node, lane.value, bus_.frames().bytes(frame)};
  watch_.each([&](Observer& observer, const Kernel& kernel) { observer.delivered(kernel, note); });
  StationDesk desk(now_, node, {bus_, schedule_, watch_, ledger_, pattern_});
  stations_[index]->arrived(desk, note.bytes);
  tell_of_station(index);
  bus_.frames().give(frame);
  schedule_station(index);
}

void Kernel::run_station(std::uint32_t index) {
  station_due_[index] = Instant::never();
  StationDesk desk(now_, {NodeKind::station, index}, {bus_, schedule_, watch_, ledger_, pattern_});
  stations_[index]->run(desk);
  tell_of_station(index);
  schedule_station(index);
}

void Kernel::tell_of_station(std::uint32_t index) {
  watch_.each(
      [&](Observer& observer, const Kernel& kernel) { observer.station_ran(kernel, index); });
}

void Kernel::schedule_station(std::uint32_t index) {
  station_failed_ = station_failed_ || !stations_[index]->fault().empty();
  Instant const due = later(now_, stations_[index]->deadline());
  if (due < station_due_[index]) {
    station_due_[index] = due;
    schedule_.add(due, {Kind::station, index, 0});
  }
}

// The earliest instant at which the host may take a turn: stalls and its polling interval delay it.
Instant Kernel::allowed(const Host& host, Instant at) const {
  Instant when = later(at, now_);
  if (host.state().turned && host.spec().poll.ns != 0) {
    when = later(when, host.state().last_turn + host.spec().poll);
  }
  return when.is_never() ? when : host.stalled_until(when);
}

void Kernel::want_turn(Host& host, Instant at) {
  HostState& state = host.state();
  Instant const when = allowed(host, at);
  state.stalled_turns += host.stalled_until(now_) != now_ ? 1 : 0;
  if (when == now_) {
    if (state.turn_at != now_) {
      state.turn_at = now_;
      schedule_.add(now_, {Kind::turn, host.index().value, 0});
    }
  } else if (when < state.timer_at) {
    state.timer_at = when;
    schedule_.add(when, {Kind::timer, host.index().value, 0});
  }
}

// The earliest deadline of the host. While it has no room to send, a stack with pending output
// waits for that room.
Instant Kernel::wanted(const Host& host) const {
  HostState const& state = host.state();
  if (host.frames_waiting() != 0) {
    return now_;
  }
  Instant at = Instant::never();
  if (state.blocked) {
    Lane const& lane = bus_.lane(bus_.lane_from({NodeKind::host, host.index().value}));
    // Without a fault and with no frame queued there is room now.
    at = host.ring_full(now_)                ? host.ring_full_until(now_)
         : host.nic() != nullptr             ? host.nic()->room_at()
         : lane.first_departure().is_never() ? now_
                                             : lane.first_departure();
  } else {
    at = host.clock().world(host.stack().deadline());
  }
  for (auto const& model : host.models()) {
    at = earlier(at, host.clock().world(model->deadline()));
  }
  return at;
}

void Kernel::timer_of_host(Host& host, Instant at) {
  if (host.state().timer_at != at) {
    return;  // superseded by an earlier entry
  }
  host.state().timer_at = Instant::never();
  want_turn(host, wanted(host));
}

PortTurn Kernel::port_turn(Host& host) {
  return {host,   bus_,    schedule_,   watch_, now_, host.clock().local(now_),
          burst_, sorted_, frames_hash_};
}

void Kernel::turn_host(Host& host) {
  HostState& state = host.state();
  CHECK(state.turn_at == now_);
  state.turn_at = Instant::never();
  current_host_ = host.index();
  watch_.each([&](Observer& observer, const Kernel& kernel) {
    observer.turn_begins(kernel, host.index());
  });
  PortTurn const with = port_turn(host);
  Instant const local = with.local_now;
  ModelsOfHost models(host, {host.stack(),
                             local,
                             now_,
                             host.index(),
                             {},
                             host.region_bound(),
                             ledger_,
                             state.routes,
                             pattern_,
                             watch_});
  std::uint64_t const sent = state.frames_sent;
  bool const by_clock = host.frames_waiting() == 0;
  SimPort port(with);
  Outcome const outcome =
      host.nic() == nullptr ? turn_on(with, port, models) : turn_on_nic(with, models);
  models.turned(by_clock);
  frames_sent_ += state.frames_sent - sent;
  ++state.turns;
  state.turned = true;
  state.last_turn = now_;
  state.blocked = outcome == Outcome::transmit_blocked;
  state.blocked_turns += state.blocked ? 1 : 0;
  if (world_.invariants_every != 0 && state.turns % world_.invariants_every == 0) {
    host.stack().check_invariants();
  }
  watch_.each([&](Observer& observer, const Kernel& kernel) {
    observer.turned(kernel, host.index(), outcome);
  });
  Instant const next = wanted(host);
  state.idle_turns = outcome == Outcome::idle && next <= now_ ? state.idle_turns + 1 : 0;
  CHECK(state.idle_turns < idle_turns_max);
  want_turn(host, next);
}

std::uint64_t Kernel::frames_accounted() const {
  std::uint64_t frames = schedule_.count(Kind::arrival) + bus_.frames_waiting();
  for (auto const& each : hosts_) {
    frames += each->state().frames_held();
  }
  return frames;
}

std::uint64_t Kernel::fingerprint() const {
  Fingerprint all;
  all.add(now_.ns);
  all.add(frames_hash_);
  all.add(frames_sent_);
  for (auto const& each : hosts_) {
    all.add(each->stack().fingerprint());
  }
  for (auto const& each : stations_) {
    if (std::uint64_t const sent = each->fingerprint(); sent != 0) {
      all.add(sent);
    }
  }
  return all.value();
}

RunNote current_run() {
  RunNote note;
  if (running != nullptr) {
    note.running = true;
    note.seed = running->seed();
    note.at = running->now();
    note.world = running->world().name;
    if (running->current_host().value < running->host_count()) {
      note.host = running->host(running->current_host()).spec().name;
    }
  }
  return note;
}

}  // namespace lockstep::sim
