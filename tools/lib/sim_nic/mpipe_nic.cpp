// Connects driver and model to the kernel: frames in, turns, frames out, snapshots.
#include "tools/lib/sim_nic/mpipe_nic.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "core/units/check.hpp"
#include "hw/mpipe/model/machine.hpp"
#include "hw/mpipe/port.hpp"
#include "sim/kernel/spread.hpp"
#include "tools/lib/sim_nic/link_header.hpp"

namespace lockstep::tools {
namespace {

using hw::Mpipe;
using hw::MpipeLink;
using hw::MpipePort;
using hw::MpipeShape;
using hw::mpipe::Arrived;
using hw::mpipe::Errors;
using hw::mpipe::FlowHash;
using hw::mpipe::Machine;
using hw::mpipe::MachineShape;

constexpr std::uint32_t ring_most = 2'046;

MpipeShape shape_of(const sim::HostSpec& spec) {
  MpipeShape shape;
  shape.mtu = spec.config.mtu;
  shape.receive_ring = {hw::receive_ring_for(std::min(spec.receive_ring, ring_most))};
  shape.transmit_buffers = {spec.transmit_ring};
  shape.batch = {spec.nic.batch};
  shape.workers = {spec.shards()};
  constexpr std::array<const char*, MpipeShape::links_max> names{"xgbe0", "xgbe1", "xgbe2",
                                                                 "xgbe3"};
  std::copy_n(names.begin(), spec.nic_links, shape.links.begin());
  shape.burst_frames = {std::min(spec.port_burst(), MpipePort::burst_max)};
  shape.bare_ip = spec.config.link == LinkType::ip;
  shape.own = near_mac;
  shape.peer = far_mac;
  return shape;
}

FlowHash hash_of(sim::NicHash hash) {
  switch (hash) {
    case sim::NicHash::ours:
      return FlowHash::ours;
    case sim::NicHash::nic:
      return FlowHash::nic;
    case sim::NicHash::one:
      return FlowHash::one;
    case sim::NicHash::lopsided:
      return FlowHash::lopsided;
  }
  return FlowHash::nic;
}

MachineShape machine_of(const sim::HostSpec& spec, Random random) {
  sim::NicSpec const& nic = spec.nic;
  MachineShape shape;
  shape.memory_bytes = static_cast<std::uint32_t>(Mpipe::memory_bytes(shape_of(spec)));
  shape.random = random;
  shape.mac = spec.config.mac;
  shape.hash = hash_of(nic.hash);
  shape.workers = spec.shards();
  Errors& errors = shape.errors;
  errors.no_buffer = nic.no_buffer;
  errors.ring_full = nic.ring_full;
  errors.truncated = nic.truncated;
  errors.bad_sum = nic.bad_sum;
  errors.mispredicted = nic.mispredicted;
  errors.not_ready = nic.not_ready;
  errors.late = nic.late;
  errors.late_by = nic.late_by;
  errors.completion = nic.completion;
  return shape;
}

// Connects the model's wire to the host's link for one call. Frames sent on other links of the NIC
// are handled when those links are served; nothing depends on them earlier.
class HostWire final : public hw::mpipe::Wire {
 public:
  void join(sim::NicLink& link, std::size_t header_bytes) {
    link_ = &link;
    header_bytes_ = header_bytes;
  }
  void part() { link_ = nullptr; }
  void leave(std::span<const std::byte> frame) override {
    CHECK(link_ != nullptr);
    link_->send(frame.subspan(header_bytes_));
  }
  std::uint32_t waiting() override {
    return link_ == nullptr ? std::numeric_limits<std::uint32_t>::max() : link_->waiting();
  }
  Instant first_departure() const override {
    return link_ == nullptr ? Instant::never() : link_->first_departure();
  }

 private:
  sim::NicLink* link_ = nullptr;
  std::size_t header_bytes_ = 0;
};

// The part of a NIC that its workers share.
class Engine {
 public:
  Engine(const sim::HostSpec& spec, Random random)
      : spec_(spec), machine_shape_(machine_of(spec, random)), machine_(machine_shape_) {
    machine_.be_current();
    hw::MpipeTrouble const trouble = mpipe_.open(shape_of(spec));
    CHECK(trouble.none());
    for (std::uint32_t link = 0; link < spec.nic_links; ++link) {
      machine_.attach(wires_[link], mpipe_.channel({link}));
    }
  }
  // Closing calls the system, which must be that of this machine.
  ~Engine() { machine_.be_current(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void enter(const sim::NicMoment& moment, MpipeLink link) {
    machine_.be_current();
    wires_[joined_.value].part();
    joined_ = link;
    wires_[link.value].join(moment.link, mpipe_.shape().bare_ip ? coat_bytes : 0);
    sim::NicSpec const& nic = spec_.nic;
    std::uint64_t const period = nic.link_up_for.ns + nic.link_down_for.ns;
    bool const erring = moment.now < nic.errors_until;
    machine_.set_link_up(!erring || nic.link_down_for.ns == 0 ||
                         moment.now.ns % period < nic.link_up_for.ns);
    machine_.set_erring(erring);
    machine_.step({moment.now, moment.local});
  }

  bool arrive(std::span<const std::byte> frame, MpipeLink link) {
    if (!mpipe_.shape().bare_ip) {
      return machine_.arrive(frame, mpipe_.channel(link)) == Arrived::taken;
    }
    put_coat_on(frame, framed_);
    return machine_.arrive(framed_, mpipe_.channel(link)) == Arrived::taken;
  }

  Machine& machine() { return machine_; }
  const Machine& machine() const { return machine_; }
  const MachineShape& machine_shape() const { return machine_shape_; }
  Mpipe& mpipe() { return mpipe_; }
  const Mpipe& mpipe() const { return mpipe_; }

 private:
  sim::HostSpec spec_;
  MachineShape machine_shape_;
  Machine machine_;
  std::array<HostWire, MpipeShape::links_max> wires_;
  MpipeLink joined_;
  Mpipe mpipe_;
  std::vector<std::byte> framed_;
};

// The first worker's snapshot holds the machine.
class MpipeSnapshot final : public sim::NicSnapshot {
 public:
  std::unique_ptr<Machine> machine;
  MpipePort::State port;
  std::uint64_t discarded = 0;
  Instant room_at;
};

// One worker on one link. The first worker of the first link owns the shared engine.
class MpipeNic final : public sim::Nic {
 public:
  MpipeNic(const sim::HostSpec& spec, Random random)
      : own_(std::make_unique<Engine>(spec, random)),
        engine_(*own_),
        port_(engine_.mpipe(), MpipePort::Worker{0}) {}
  MpipeNic(Engine& engine, ShardId worker, MpipeLink link)
      : engine_(engine),
        worker_(worker),
        link_(link),
        port_(engine_.mpipe(), {worker.value}, link) {}

  std::unique_ptr<sim::Nic> worker(ShardId shard) override {
    CHECK(worker_.value == 0 && shard.value != 0);
    return std::make_unique<MpipeNic>(engine_, shard, link_);
  }

  std::unique_ptr<sim::Nic> link(std::uint32_t number) override {
    CHECK(own_ != nullptr && number != 0);
    return std::make_unique<MpipeNic>(engine_, ShardId{0}, MpipeLink{number});
  }

  sim::NicTaking arrive(const sim::NicMoment& moment, std::span<const std::byte> frame) override {
    engine_.enter(moment, link_);
    if (!engine_.arrive(frame, link_)) {
      return {};
    }
    return {true, {engine_.machine().last_ring() - engine_.mpipe().first_ring(link_)}};
  }

  void turn_begins(const sim::NicMoment& moment) override {
    engine_.enter(moment, link_);
    discarded_before_ = engine_.machine().discarded();
  }

  void turn_ends(const sim::NicMoment& moment) override {
    engine_.enter(moment, link_);
    Machine const& machine = engine_.machine();
    Instant const at = machine.deadline(engine_.mpipe().channel(link_));
    room_at_ = at.is_never() ? Instant{0} : at;
    discarded_ += machine.discarded() - discarded_before_;
    // Any misuse of the hardware by the driver is a failure.
    CHECK(machine.sins() == 0);
  }

  Instant now() override { return port_.now(); }
  std::span<const Ingress> receive() override { return port_.receive(); }
  void reclaim() override { port_.reclaim(); }
  std::span<std::byte> claim() override { return port_.claim(); }
  void commit(const Egress& egress) override { port_.commit(egress); }
  void flush() override { port_.flush(); }
  std::uint32_t waiting() const override {
    return engine_.machine().delivered(engine_.mpipe().first_ring(link_) + worker_.value);
  }
  Instant room_at() const override { return room_at_; }

  sim::NicLosses losses() const override {
    hw::MpipeCounters const& seen = port_.counters();
    return {seen.damaged + seen.cut_short + seen.chained + seen.malformed, discarded_};
  }

  std::unique_ptr<sim::NicSnapshot> snapshot() const override {
    auto made = std::make_unique<MpipeSnapshot>();
    if (own_ != nullptr) {
      made->machine = std::make_unique<Machine>(own_->machine_shape());
      made->machine->copy_from(own_->machine());
    }
    made->port = port_.state(engine_.machine().memory().at({0}));
    made->discarded = discarded_;
    made->room_at = room_at_;
    return made;
  }

  void restore(const sim::NicSnapshot& snapshot) override {
    auto const& kept = static_cast<const MpipeSnapshot&>(snapshot);
    if (own_ != nullptr) {
      own_->machine().copy_from(*kept.machine);
    }
    port_.set_state(kept.port, engine_.machine().memory().at({0}));
    discarded_ = kept.discarded;
    room_at_ = kept.room_at;
  }

 private:
  std::unique_ptr<Engine> own_;
  Engine& engine_;
  ShardId worker_;
  MpipeLink link_;
  MpipePort port_;
  std::uint64_t discarded_ = 0;
  std::uint64_t discarded_before_ = 0;
  Instant room_at_;
};

}  // namespace

std::unique_ptr<sim::Nic> make_mpipe_nic(const sim::HostSpec& spec, Random random) {
  return std::make_unique<MpipeNic>(spec, random);
}

void add_nics(sim::Registry& registry) { registry.add_nic(mpipe_driver, make_mpipe_nic); }

sim::Registry with_nics(sim::Registry registry) {
  add_nics(registry);
  return registry;
}

std::uint32_t give_nics(sim::World& world) {
  std::uint32_t given = 0;
  for (sim::HostSpec& host : world.hosts) {
    sim::HostSpec with = host;
    with.nic.driver = mpipe_driver;
    with.receive_ring = hw::receive_ring_for(std::min(host.receive_ring, ring_most)) - 2;
    bool const can = host.nic.plain() && sim::fault_of_nic(with).empty();
    if (can) {
      host = with;
      ++given;
    }
  }
  return given;
}

namespace {

// One port in `workers` hashes to a given worker on average. With this many times `workers` ports,
// a worker has none with a probability of about one in ten million.
constexpr std::uint32_t ports_each = 16;

// A range that is enough for one stack may contain no port that hashes to some worker.
void widen_ports(tcp::Config& tcp, ShardCount workers) {
  std::uint32_t const drawn = tcp.port_last.value - tcp.port_first.value + 1u;
  std::uint32_t const last = tcp.port_first.value + std::max(drawn, ports_each) * workers.value - 1;
  tcp.port_last = {static_cast<std::uint16_t>(std::min(last, 65'535u))};
  tcp.port_tries = {std::max(tcp.port_tries.value, ports_each)};
}

}  // namespace

std::uint32_t spread_over_workers(sim::World& world, ShardCount workers) {
  std::uint32_t spread = 0;
  auto const hosts = static_cast<std::uint32_t>(world.hosts.size());
  for (std::uint32_t i = 0; i < hosts; ++i) {
    bool can = world.hosts[i].config.link == LinkType::ethernet && world.hosts[i].shards() == 1 &&
               world.routers.empty();
    for (sim::AppSpec const& app : world.apps) {
      bool const mine = app.client.value == i || app.server.value == i;
      can = can && !(mine && app.model == sim::Name("mutual"));
      can = can && app.draws.arrivals.kind == sim::ArrivalKind::regular;
    }
    if (can) {
      widen_ports(world.hosts[i].config.tcp, workers);
      sim::spread(world, {{i}, workers, {}});
      ++spread;
    }
  }
  return spread;
}

void draw_errors(sim::World& world, std::uint64_t seed) {
  Random random = Random(seed).fork("card errors");
  // Where errors occur, 1 to 100 in 10000, as with a bad cable.
  auto const maybe = [&random]() -> Probability {
    bool const at_all = random.below(4) == 0;
    return {at_all ? static_cast<std::uint32_t>(random.within({100'000, 10'000'000})) : 0u};
  };
  Random hashes = Random(seed).fork("card hashes");
  for (sim::HostSpec& host : world.hosts) {
    sim::NicSpec& nic = host.nic;
    if (std::uint64_t const hash = hashes.below(8); hash < 4) {
      nic.hash = static_cast<sim::NicHash>(hash);
    }
    if (nic.plain() || random.below(3) == 0) {
      continue;
    }
    nic.batch = static_cast<std::uint32_t>(random.within({1, 32}));
    if (random.below(2) == 0) {
      nic.completion = {random.below(100'000)};
    }
    for (Probability* each : {&nic.no_buffer, &nic.ring_full, &nic.truncated, &nic.bad_sum,
                              &nic.not_ready, &nic.late}) {
      *each = maybe();
    }
    if (random.below(8) == 0) {
      nic.link_up_for = Duration::milliseconds(random.within({50, 2'000}));
      nic.link_down_for = Duration::milliseconds(random.within({1, 200}));
    }
    nic.errors_until = Instant{0} + Duration::milliseconds(random.within({100, 20'000}));
    // Only the first octets prove a cookie: if this host loses them, the rest gets a reset.
    if (world.served && host.config.tcp.syn_cookies == tcp::SynCookies::always) {
      host.config.tcp.syn_cookies = tcp::SynCookies::on;
    }
  }
}

}  // namespace lockstep::tools
