// Builds and runs a world with a device under attack.
#include "conformance/interop/siege.hpp"

#include <fmt/core.h>

#include <array>
#include <memory>
#include <utility>

#include "conformance/interop/server.hpp"
#include "conformance/interop/station.hpp"
#include "core/units/hash.hpp"
#include "core/wire/ethernet.hpp"
#include "sim/kernel/kernel.hpp"
#include "tools/base/capture/pcapng_writer.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance {
namespace {

enum Place : std::size_t { victim, reader, writer, attacker };
constexpr std::size_t places = 4;
constexpr std::array<sim::Name, places> names{"victim", "reader", "writer", "attacker"};
constexpr sim::Name siege_model = "siege";
constexpr DeviceService replies{Port{7'000}, 100, 20'000, 0x5eed};
constexpr DeviceService sink{Port{7'001}, 50'000, 1, 0x5eed};
constexpr std::uint64_t requests = 50, written = 500'000;
constexpr std::uint32_t mtu = 1'500;
constexpr Duration limit = Duration::seconds(120);

IpAddress address_of(std::size_t place) {
  return IpAddress::v4(10, 0, 0, place == attacker ? 66 : static_cast<std::uint8_t>(place + 1));
}

Mac mac_of(std::size_t place) {
  Mac out;
  out.octets = {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(place == attacker ? 66 : place + 1)};
  return out;
}

/// A SYN flood of 300 Mbit/s, the others slower: as in `lockstep hostile` against our stack.
Duration pace_of(sim::Attack attack) {
  return attack == sim::Attack::syn_flood ? Duration::microseconds(2) : Duration::microseconds(100);
}

sim::LaneSpec lane_of(std::uint64_t bits_per_second) {
  sim::LaneSpec lane;
  lane.rate_bits_per_second = bits_per_second;
  lane.delay = Duration::milliseconds(1);
  return lane;
}

sim::World world_of(const SiegePlan& plan) {
  sim::World world;
  world.name = "siege";
  world.switches = {{"switch", 16}};
  sim::NodeRef const middle{sim::NodeKind::learning_switch, 0};
  for (std::size_t i = 0; i < places; ++i) {
    sim::StationSpec station;
    station.name = names[i];
    station.model = siege_model;
    station.address = address_of(i);
    station.mac = mac_of(i);
    if (i == attacker) {
      station.every = pace_of(plan.attack);
      station.acts = plan.frames;
    }
    world.stations.push_back(station);
    sim::LaneSpec const lane = lane_of(i == reader || i == writer ? 100'000'000 : 1'000'000'000);
    world.links.push_back(
        {names[i], {sim::NodeKind::station, static_cast<std::uint32_t>(i)}, middle, lane, lane});
  }
  world.limit = limit;
  return world;
}

/// For the registry, whose makers are functions without a context: the stations of this thread's
/// world.
thread_local std::array<std::unique_ptr<sim::Station>, places> siege_stations;

std::unique_ptr<sim::Station> siege_station(const sim::World&, const sim::StationSpec& spec,
                                            Random) {
  for (std::size_t i = 0; i < places; ++i) {
    if (spec.name == names[i]) {
      return std::move(siege_stations[i]);
    }
  }
  return nullptr;
}

/// Creates a device with the best profile that it has; returns why it cannot be, or "".
std::string create(DevicePeer& peer, std::size_t place, std::uint64_t seed) {
  DeviceAnswer answer;
  for (const char* const profile : {"default", "rfc"}) {
    answer = peer.ask(LOCKSTEP_CALL_CREATE, 0, 0,
                      fmt::format("local={}\nremote={}\nmtu={}\nseed={}\nstart=0\nprofile={}\n",
                                  tools::text_of(address_of(place)),
                                  tools::text_of(address_of(place == victim ? reader : victim)),
                                  mtu, seed + place, profile));
    if (answer.result >= 0) {
      return "";
    }
  }
  return answer.octets;
}

StreamPlan plan_of(std::size_t place) {
  StreamPlan out;
  out.opens = true;
  DeviceService const& service = place == reader ? replies : sink;
  out.port = service.port;
  out.pattern = out.peers_pattern = service.pattern;
  out.send = place == reader ? requests * service.request : written;
  out.receive = out.send / service.request * service.reply;
  return out;
}

/// Counts frames between the victim and the attacker's link address, and records the victim's.
class Meter final : public sim::Observer {
 public:
  explicit Meter(SiegeReport& out) : out_(out) {}

  void delivered(const sim::Kernel&, const sim::FrameNote& note) override {
    wire::EthernetFrame frame;
    if (is_victims(note) && wire::parse(note.bytes, frame) == Drop::none) {
      record(note);
      bool const counts = frame.header.source == mac_of(attacker);
      out_.frames_in += counts ? 1 : 0;
      out_.bytes_in += counts ? note.bytes.size() : 0;
    }
  }
  void sent(const sim::Kernel&, const sim::FrameNote& note) override {
    hash_.add(note.at.ns);
    for (std::byte const octet : note.bytes) {
      hash_.add(std::to_integer<std::uint64_t>(octet));
    }
    wire::EthernetFrame frame;
    if (is_victims(note) && wire::parse(note.bytes, frame) == Drop::none) {
      record(note);
      bool const counts = frame.header.destination == mac_of(attacker);
      out_.frames_out += counts ? 1 : 0;
      out_.bytes_out += counts ? note.bytes.size() : 0;
    }
  }
  void finish() {
    out_.fingerprint = hash_.value();
    out_.capture = capture_.bytes();
  }

 private:
  static constexpr std::uint64_t captured_max = 20'000;

  static bool is_victims(const sim::FrameNote& note) {
    return note.node == sim::NodeRef{sim::NodeKind::station, victim};
  }
  void record(const sim::FrameNote& note) {
    if (++captured_ <= captured_max) {
      capture_.add(note.at, note.bytes.subspan(wire::ethernet_header_bytes), "victim");
    }
  }

  SiegeReport& out_;
  Fingerprint hash_;
  tools::PcapngWriter capture_;
  std::uint64_t captured_ = 0;
};

/// Makes the stations; returns the two clients.
std::array<const DeviceStation*, 2> prepare(const SiegePlan& plan, const sim::World& world,
                                            SiegeReport& out) {
  std::array<const DeviceStation*, 2> clients{};
  for (std::size_t i = 0; i < attacker; ++i) {
    auto peer = std::make_unique<DevicePeer>(i == victim ? plan.victim : plan.honest);
    out.left_out = create(*peer, i, plan.seed);
    if (!out.left_out.empty()) {
      return clients;
    }
    if (i == victim) {
      DeviceServer::Link const link{
          mac_of(victim),
          mac_of(attacker),
          {{address_of(reader), mac_of(reader)}, {address_of(writer), mac_of(writer)}}};
      siege_stations[i] = std::make_unique<DeviceServer>(std::move(peer), link,
                                                         std::vector<DeviceService>{replies, sink});
    } else {
      DeviceStation::Link const link{mac_of(i), mac_of(victim), mtu, false};
      auto client = std::make_unique<DeviceStation>(std::move(peer), link, plan_of(i));
      clients[i - reader] = client.get();
      siege_stations[i] = std::move(client);
    }
  }
  sim::AttackedHost const attacked{mac_of(victim),
                                   {address_of(victim), replies.port},
                                   address_of(reader),
                                   Bytes{replies.request}};
  siege_stations[attacker] = std::make_unique<sim::Attacker>(
      attacked, world.stations[attacker], Random(plan.seed).fork("attacker"), plan.attack);
  return clients;
}

}  // namespace

SiegeReport run_siege(const SiegePlan& plan) {
  SiegeReport out;
  Meter meter(out);
  sim::World const world = world_of(plan);
  try {
    auto const clients = prepare(plan, world, out);
    if (!out.left_out.empty()) {
      return out;
    }
    sim::Registry registry = sim::Registry::standard();
    registry.add_station(siege_model, siege_station);
    sim::Kernel kernel(world, plan.seed, registry);
    kernel.observe(meter);
    Instant const end = Instant{0} + limit;
    Instant const silent =
        Instant{0} + pace_of(plan.attack) * static_cast<std::uint32_t>(plan.frames + 1);
    const auto broken = [&] {
      return !clients[0]->progress().wrong.empty() || !clients[1]->progress().wrong.empty();
    };
    while (kernel.now() < end && !broken() && (!out.honest_done || kernel.now() < silent) &&
           kernel.step()) {
      bool const done = clients[0]->progress().done() && clients[1]->progress().done();
      if (done && !out.honest_done) {
        out.honest_done = true;
        out.honest = kernel.now().since(Instant{0});
      }
    }
    kernel.end();
    out.fault = kernel.fault();
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (out.wrong.empty() && !clients[i]->progress().wrong.empty()) {
        out.wrong =
            fmt::format("the {}: {}", i == 0 ? "reader" : "writer", clients[i]->progress().wrong);
      }
    }
  } catch (const DeviceFault& fault) {
    out.fault = fault.what();
  }
  meter.finish();
  return out;
}

}  // namespace lockstep::conformance
