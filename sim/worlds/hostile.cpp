// Builds and runs a hostile world, and measures its victim.
#include "sim/worlds/hostile.hpp"

#include <algorithm>

#include "core/wire/ethernet.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint8_t attacker_number = 66;

// The interval of the attacker's actions: a SYN flood of 300 Mbit/s, the others slower.
Duration pace_of(Attack attack) {
  return attack == Attack::syn_flood ? Duration::microseconds(2) : Duration::microseconds(100);
}

LaneSpec lane_of(std::uint64_t bits_per_second) {
  LaneSpec lane;
  lane.rate_bits_per_second = bits_per_second;
  lane.delay = Duration::milliseconds(1);
  return lane;
}

AppSpec honest_app(Name model, Port port) {
  AppSpec app;
  app.name = model;
  app.model = model;
  app.client = {1};
  app.server = {0};
  app.port = port;
  return app;
}

void add_work(World& world) {
  AppSpec upload = honest_app("bulk", {7'001});
  upload.bytes = 640'000;
  upload.flows = 4;
  upload.repeat = 10;
  AppSpec download = honest_app("chatter", {7'000});
  download.bytes = 100;
  download.reply_bytes = 200'000;
  download.rounds = 5;
  download.repeat = 2;
  world.apps = {upload, download};
}

// Counts frames between the victim and the attacker's link address.
class Meter final : public Observer {
 public:
  Meter(const World& world, HostileReport& out) : attacker_(world.stations[0].mac), out_(out) {}

  void delivered(const Kernel&, const FrameNote& note) override {
    wire::EthernetFrame frame;
    if (note.node == victim && parse(note, frame) && frame.header.source == attacker_) {
      ++out_.frames_in;
      out_.bytes_in += note.bytes.size();
    }
  }
  void sent(const Kernel&, const FrameNote& note) override {
    wire::EthernetFrame frame;
    if (note.node == victim && parse(note, frame) && frame.header.destination == attacker_) {
      ++out_.frames_out;
      out_.bytes_out += note.bytes.size();
    }
  }
  void turned(const Kernel& kernel, HostIndex host, Outcome) override {
    if (host == HostIndex{0}) {
      raise(kernel.host(host).stack().pools());
    }
  }

 private:
  static constexpr NodeRef victim{NodeKind::host, 0};

  static bool parse(const FrameNote& note, wire::EthernetFrame& frame) {
    return wire::parse(note.bytes, frame) == Drop::none;
  }
  void raise(const PoolUse& now) {
    PoolUse& most = out_.most;
    most.connections = std::max(most.connections, now.connections);
    most.active = std::max(most.active, now.active);
    most.time_wait = std::max(most.time_wait, now.time_wait);
    most.blocks = std::max(most.blocks, now.blocks);
    most.pieces = std::max(most.pieces, now.pieces);
    most.extents = std::max(most.extents, now.extents);
    most.pending_acks = std::max(most.pending_acks, now.pending_acks);
    most.half_open = std::max(most.half_open, now.half_open);
  }

  Mac attacker_;
  HostileReport& out_;
};

bool is_whole(const Kernel& kernel) {
  for (const Flow& flow : kernel.ledger().flows()) {
    bool const fine = flow.end(Side::acceptor).intact && flow.end(Side::opener).intact &&
                      flow.end(Side::opener).cause == Cause::finished;
    if (!flow.foreign && !fine) {
      return false;
    }
  }
  return true;
}

}  // namespace

World hostile_world(const Hostility& hostility) {
  World world;
  world.name = "hostile";
  world.hosts = {plain_host("victim", 1, hostility.config),
                 plain_host("honest", 2, hostility.config)};
  Config& victim = world.hosts[0].config;
  IpAddress const attacker = IpAddress::v4(10, 0, 0, attacker_number);
  victim.gateway = attacker;
  StationSpec station;
  station.name = "attacker";
  station.model = name_of(hostility.attack);
  station.address = attacker;
  station.mac.octets = {0x02, 0, 0, 0, 0, attacker_number};
  station.every = pace_of(hostility.attack);
  station.acts = hostility.frames;
  world.stations = {station};
  world.switches = {{"switch", 16}};
  NodeRef const middle{NodeKind::learning_switch, 0};
  LaneSpec const fast = lane_of(1'000'000'000);
  LaneSpec const slow = lane_of(100'000'000);
  world.links = {{"victim", {NodeKind::host, 0}, middle, fast, fast},
                 {"honest", {NodeKind::host, 1}, middle, slow, slow},
                 {"attacker", {NodeKind::station, 0}, middle, fast, fast}};
  add_work(world);
  world.limit = Duration::seconds(120);
  world.invariants_every = 1'024;
  return world;
}

HostileReport run_hostile(const Hostility& hostility, std::uint64_t seed) {
  World const world = hostile_world(hostility);
  HostileReport report;
  Kernel kernel(world, seed);
  Meter meter(world, report);
  kernel.observe(meter);
  StationSpec const& attacker = world.stations[0];
  Instant const silent =
      Instant{0} + attacker.every * static_cast<std::uint32_t>(attacker.acts + 1);
  Instant const limit = Instant{0} + world.limit;
  while (kernel.now() < limit && (!report.honest_done || kernel.now() < silent)) {
    if (!kernel.step()) {
      break;
    }
    if (!report.honest_done && kernel.done()) {
      report.honest_done = is_whole(kernel);
      report.honest_ns = kernel.now().ns;
      if (!report.honest_done) {
        break;
      }
    }
  }
  kernel.end();
  return report;
}

}  // namespace lockstep::sim
