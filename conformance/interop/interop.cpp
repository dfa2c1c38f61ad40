// Draws and runs a world of two devices.
#include "conformance/interop/interop.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "conformance/devices/load.hpp"
#include "conformance/interop/judge.hpp"
#include "conformance/interop/station.hpp"
#include "core/units/hash.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/swarm/draw_parts.hpp"
#include "tools/base/capture/pcapng_writer.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance {
namespace {

using Kind = InteropFinding::Kind;
using sim::Dice;
using sim::ms;

constexpr std::size_t ends = 2;
constexpr Duration patience = Duration::seconds(900);  // after the last fault
constexpr sim::Name model = "device";

std::string words_of(const InteropWorld& drawn, const std::array<std::string, ends>& names) {
  std::string out = fmt::format("IPv{}, MTU {}", drawn.ipv6 ? 6 : 4, drawn.mtu);
  for (std::size_t i = 0; i < ends; ++i) {
    StreamPlan const& plan = drawn.plans[i];
    out += fmt::format("; {} {} ({}) sends {} octets", names[i], plan.opens ? "opens" : "listens",
                       drawn.profiles[i], plan.send);
    out += plan.read_every.ns == 0 ? ""
                                   : fmt::format(", reads {} octets every {} ms", plan.read_most,
                                                 plan.read_every.ns / 1'000'000);
  }
  return out + fmt::format("; {} faults", drawn.world.lane_faults.size());
}

/// Judges what each side sends, from what it has sent and what has arrived there.
class Judge final : public sim::Observer {
 public:
  Judge(std::vector<InteropFinding>& findings, const std::array<std::string, ends>& names)
      : findings_(findings), names_(names) {}

  void sent(const sim::Kernel&, const sim::FrameNote& note) override {
    ++frames_;
    hash_.add(note.at.ns);
    for (std::byte const octet : note.bytes) {
      hash_.add(std::to_integer<std::uint64_t>(octet));
    }
    // The capture is bounded; the violation that matters comes early.
    if (frames_ <= captured_max) {
      capture_.add(note.at, note.bytes.subspan(ethernet_bytes), names_[note.node.index]);
    }
    DeviceJudge& judge = judges_[note.node.index];
    bool const before = judge.sent_malformed();
    judge.see(note, true);
    if (judge.sent_malformed() && !before) {
      findings_.push_back({Kind::rfc, names_[note.node.index],
                           "9293:MUST-2: a packet with a wrong checksum or length", note.at, ""});
    }
  }
  void delivered(const sim::Kernel&, const sim::FrameNote& note) override {
    judges_[note.node.index].see(note, false);
  }

  void end() {
    bool const fragmented = judges_[0].fragmented() || judges_[1].fragmented();
    for (std::size_t i = 0; i < ends && !fragmented; ++i) {
      judges_[i].end();
      for (auto const& violation : judges_[i].violations().kept()) {
        if (violation.certainty() == sim::referee::Certainty::certain) {
          auto const& text = sim::referee::text_of(violation.rule);
          std::string detail;
          if (!text.expected.empty()) {
            detail += fmt::format("{} {}", text.expected, violation.numbers.expected);
          }
          if (!text.found.empty()) {
            detail += fmt::format("{}{} {}", detail.empty() ? "" : ", ", text.found,
                                  violation.numbers.found);
          }
          findings_.push_back({Kind::rfc, names_[i], fmt::format("{}: {}", text.clause, text.words),
                               violation.at, detail});
        }
      }
    }
  }

  std::uint64_t frames() const { return frames_; }
  std::uint64_t fingerprint() const { return hash_.value(); }
  std::vector<std::byte> capture() const { return capture_.bytes(); }

 private:
  static constexpr std::uint64_t captured_max = 20'000;
  static constexpr std::size_t ethernet_bytes = 14;

  std::vector<InteropFinding>& findings_;
  const std::array<std::string, ends>& names_;
  std::array<DeviceJudge, ends> judges_;
  std::uint64_t frames_ = 0;
  Fingerprint hash_;
  tools::PcapngWriter capture_;
};

/// Two created devices; or why there are not two.
struct Ready {
  std::array<std::unique_ptr<DevicePeer>, ends> peers;
  std::string left_out;
};

std::string create(DevicePeer& peer, InteropWorld& drawn, std::size_t i) {
  const auto address = [&](std::size_t which) {
    return fmt::format("{}{}", drawn.ipv6 ? "fd00::" : "10.0.0.", which + 1);
  };
  const auto attempt = [&](const std::string& profile) {
    return peer.ask(
        LOCKSTEP_CALL_CREATE, 0, 0,
        fmt::format("local={}\nremote={}\nmtu={}\nseed={}\nstart=0\nprofile={}\n", address(i),
                    address(1 - i), drawn.mtu, drawn.device_seed + i, profile));
  };
  DeviceAnswer answer = attempt(drawn.profiles[i]);
  if (answer.result == LOCKSTEP_DEVICE_UNSUPPORTED && drawn.profiles[i] != "rfc") {
    drawn.profiles[i] = "rfc";
    answer = attempt("rfc");
  }
  return answer.result >= 0 ? "" : answer.octets;
}

Ready start(const std::array<std::filesystem::path, ends>& paths, InteropWorld& drawn) {
  Ready out;
  for (std::size_t i = 0; i < ends; ++i) {
    out.peers[i] = std::make_unique<DevicePeer>(paths[i]);
    if (drawn.ipv6 && !out.peers[i]->about().abilities.contains("ipv6")) {
      drawn.ipv6 = false;
    }
  }
  for (std::size_t i = 0; i < ends && out.left_out.empty(); ++i) {
    std::string const why = create(*out.peers[i], drawn, i);
    out.left_out = why.empty() ? "" : fmt::format("{}: {}", device_name(paths[i]), why);
  }
  return out;
}

/// For the registry, whose makers are functions without a context: the stations of this thread's
/// world.
thread_local std::array<std::unique_ptr<sim::Station>, ends> prepared;

std::unique_ptr<sim::Station> prepared_station(const sim::World&, const sim::StationSpec& spec,
                                               Random) {
  return std::move(prepared[spec.name == sim::Name("a") ? 0 : 1]);
}

void judge_streams(const sim::Kernel& kernel, const std::array<const DeviceStation*, ends>& sides,
                   InteropRun& out, const std::array<std::string, ends>& names) {
  bool told = false;
  for (std::size_t i = 0; i < ends; ++i) {
    if (!sides[i]->progress().wrong.empty()) {
      std::string const& what = sides[i]->progress().wrong;
      // Numbers differ from seed to seed; the sentence without them is the kind of fault.
      std::string same;
      for (char const c : what) {
        if (c < '0' || c > '9') {
          same += c;
        } else if (!same.ends_with('N')) {
          same += 'N';
        }
      }
      out.findings.push_back({Kind::stream, names[i], same, kernel.now(), what});
      told = true;
    }
  }
  for (std::size_t i = 0; i < ends && !told; ++i) {
    StreamProgress const& progress = sides[i]->progress();
    if (!progress.done()) {
      out.findings.push_back(
          {Kind::liveness, names[i], "the stream is not complete at the limit", kernel.now(),
           fmt::format("{} octets sent, {} received, {}", progress.sent, progress.received,
                       progress.finished ? "finished" : "not finished")});
    }
  }
}

}  // namespace

std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 4> names{"stream", "liveness", "device", "rfc"};
  return names[static_cast<std::size_t>(kind)];
}

InteropWorld draw_interop(std::uint64_t seed) {
  Dice dice(Random(seed).fork("interop"));
  InteropWorld out;
  out.ipv6 = dice.percent(30);
  out.mtu = dice.pick({1'500u, 1'500u, 1'500u, 1'280u, 4'000u, 9'000u});
  out.device_seed = dice.word();
  std::size_t const opener = dice.below32(2);
  std::uint64_t const patterns[ends] = {dice.word(), dice.word()};
  std::uint64_t octets[ends] = {};
  for (std::size_t i = 0; i < ends; ++i) {
    octets[i] =
        dice.percent(15)
            ? 0
            : dice.within(Random::Range{1, dice.pick({100ull, 5'000ull, 60'000ull, 400'000ull})});
    out.profiles[i] = dice.percent(50) ? "default" : "rfc";
  }
  for (std::size_t i = 0; i < ends; ++i) {
    StreamPlan& plan = out.plans[i];
    plan.opens = i == opener;
    plan.pattern = patterns[i];
    plan.peers_pattern = patterns[1 - i];
    plan.send = octets[i];
    plan.receive = octets[1 - i];
    plan.write_most = dice.pick({100u, 1'000u, 4'096u, 60'000u});
    plan.read_most = dice.pick({1u, 700u, 4'096u, 65'536u});
    plan.read_every = dice.percent(25) ? dice.within(ms(1), ms(300)) : Duration{};
    plan.start = dice.within(Duration{}, ms(100));
    // A stream takes at most some hundred calls to read, and to write.
    const auto share = [](std::uint64_t all) { return static_cast<std::uint32_t>(all / 200 + 1); };
    plan.read_most = std::max(plan.read_most, share(plan.receive));
    plan.write_most = std::max(plan.write_most, share(plan.send));
  }
  sim::World& world = out.world;
  world.name = "interop";
  for (std::size_t i = 0; i < ends; ++i) {
    sim::StationSpec station;
    station.name = i == 0 ? "a" : "b";
    station.model = model;
    station.mac.octets = {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(i + 1)};
    world.stations.push_back(station);
  }
  sim::LaneSpec lane;
  lane.rate_bits_per_second = dice.pick({0ull, 1'000'000ull, 10'000'000ull, 1'000'000'000ull});
  lane.delay = dice.within(Duration{1'000}, ms(dice.pick({1u, 30u, 200u})));
  lane.queue_packets = dice.percent(30) ? 4 + dice.below32(30) : 0;
  lane.mtu_bytes = out.mtu;
  world.links = {{"link", {sim::NodeKind::station, 0}, {sim::NodeKind::station, 1}, lane, lane}};
  sim::draw_lane_faults(dice, world);
  // A frame that was replaced with right checksums is another stream.
  std::erase_if(world.lane_faults, [](const sim::LaneFaultSpec& spec) {
    return std::holds_alternative<sim::Substitute>(spec.fault);
  });
  world.limit = sim::faults_end(world).since(Instant{0}) + patience;
  return out;
}

InteropRun run_interop(const InteropPair& pair, std::uint64_t seed, bool keep_capture) {
  return run_interop(pair, seed, draw_interop(seed), keep_capture);
}

InteropRun run_interop(const InteropPair& pair, std::uint64_t seed, InteropWorld drawn,
                       bool keep_capture) {
  InteropRun out;
  out.seed = seed;
  std::array<std::filesystem::path, ends> const paths{pair.a, pair.b};
  std::array<std::string, ends> names{device_name(pair.a), device_name(pair.b)};
  Judge judge(out.findings, names);
  try {
    Ready ready = start(paths, drawn);
    out.words = words_of(drawn, names);
    out.left_out = ready.left_out;
    if (!out.left_out.empty()) {
      return out;
    }
    std::array<const DeviceStation*, ends> sides{};
    for (std::size_t i = 0; i < ends; ++i) {
      DeviceStation::Link const link{drawn.world.stations[i].mac, drawn.world.stations[1 - i].mac,
                                     drawn.mtu, drawn.ipv6};
      auto side = std::make_unique<DeviceStation>(std::move(ready.peers[i]), link, drawn.plans[i]);
      sides[i] = side.get();
      prepared[i] = std::move(side);
    }
    sim::Registry registry = sim::Registry::standard();
    registry.add_station(model, prepared_station);
    sim::Kernel kernel(drawn.world, seed, registry);
    kernel.observe(judge);
    Instant const limit = Instant{0} + drawn.world.limit;
    const auto over = [&] {
      bool const both = sides[0]->progress().done() && sides[1]->progress().done();
      bool const broken =
          !sides[0]->progress().wrong.empty() || !sides[1]->progress().wrong.empty();
      return both || broken || kernel.now() >= limit;
    };
    while (!over() && kernel.step()) {
    }
    kernel.end();
    out.ended = kernel.now();
    if (!kernel.fault().empty()) {
      throw DeviceFault(std::string(kernel.fault()));
    }
    judge_streams(kernel, sides, out, names);
    out.octets = sides[0]->progress().received + sides[1]->progress().received;
  } catch (const DeviceFault& fault) {
    std::string const text = fault.what();
    bool const second = text.starts_with(fmt::format("device {}:", names[1]));
    out.findings.push_back({Kind::device, names[second ? 1 : 0], text, out.ended, ""});
  }
  judge.end();
  out.frames = judge.frames();
  out.fingerprint = judge.fingerprint();
  if (keep_capture || !out.findings.empty()) {
    out.capture = judge.capture();
  }
  return out;
}

}  // namespace lockstep::conformance
