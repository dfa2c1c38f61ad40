// Draws applications with bounded amounts of data, and their initial sequence numbers.
#include <algorithm>

#include "core/tcp/opening/isn.hpp"
#include "sim/swarm/draw_parts.hpp"

namespace lockstep::sim {
namespace {

// Keeps a seed cheap: the limit of an application's segments, over all its connections.
constexpr std::uint64_t segments_max = 400;

// The data in the smallest full segment between the two hosts.
std::uint64_t segment_bytes(const World& world, const AppSpec& app) {
  std::uint64_t least = 65'535;
  for (HostIndex const index : {app.client, app.server}) {
    Config const& config = world.hosts[index.value].config;
    least = std::min<std::uint64_t>({least, config.tcp.mss.count, config.tcp.receive_buffer.count,
                                     config.tcp.send_buffer.count});
  }
  return std::max<std::uint64_t>(least, 1);
}

void draw_amounts(Dice& dice, const World& world, AppSpec& app) {
  app.flows = dice.pick({1u, 1u, 2u, 3u});
  app.repeat = dice.pick({1u, 1u, 1u, 2u, 4u});
  app.rounds = app.model == Name("chatter") ? dice.pick({1u, 3u, 8u}) : 1;
  std::uint64_t const talks = std::uint64_t{app.flows} * app.repeat * app.rounds;
  std::uint64_t const most =
      std::max<std::uint64_t>(segments_max / talks, 2) * segment_bytes(world, app);
  // A request of zero length is never answered.
  bool const asks = app.model == Name("chatter");
  app.bytes =
      !asks && dice.percent(5) ? 0 : dice.magnitude({1, std::min<std::uint64_t>(most, 150'000)});
  bool const replies = asks || app.model == Name("half_close");
  if (replies) {
    app.reply_bytes = dice.percent(10) ? 0 : dice.magnitude({1, std::min(most, app.bytes * 4 + 1)});
  }
}

void draw_manner(Dice& dice, AppSpec& app) {
  constexpr auto ms = Duration::milliseconds;
  app.start = dice.within(Duration{}, dice.pick({Duration{}, ms(10), ms(3'000)}));
  app.stagger = dice.pick({Duration{}, ms(1), ms(700)});
  app.think = dice.pick({Duration{}, ms(5), ms(300), ms(2'500)});
  app.read_bytes = dice.pick({std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{5'000}});
  app.read_every = dice.pick({ms(30), ms(100), ms(400)});
  app.read_after = dice.pick({Duration{}, ms(500), ms(8'000)});
  if (app.model == Name("slow_reader")) {
    // At most 300 reads.
    app.bytes = std::min(app.bytes, app.read_bytes * 300);
  }
  app.lend = dice.percent(30);
  app.urgent_every = dice.percent(20) ? dice.pick({1u, 3u}) : 0;
  app.fast_open = dice.percent(50) ? dice.pick({1u, 3u, 64u}) : 0;
  app.close_mode = dice.pick({CloseMode::finish, CloseMode::finish, CloseMode::finish,
                              CloseMode::close, CloseMode::close, CloseMode::abort});
}

struct Aim {
  HostIndex host;
  FourTuple tuple;
  Duration after;        // from the host's clock origin
  std::uint32_t within;  // maximum distance in octets below 2^32 or 2^31
};

void aim(World& world, Dice& dice, const Aim& target) {
  HostSpec& host = world.hosts[target.host.value];
  tcp::Config& tcp = host.config.tcp;
  tcp.isn_base = {};
  Instant const then = Instant{host.clock.origin.ns} + target.after;
  std::uint32_t const isn = tcp::initial_sequence(tcp, target.tuple, then).value;
  std::uint32_t const edge = dice.percent(80) ? 0u : 0x8000'0000u;
  tcp.isn_base = {edge - 1u - dice.below32(target.within) - isn};
}

}  // namespace

void draw_apps(Dice& dice, World& world) {
  std::uint32_t const count = 1 + dice.below32(4);
  auto const hosts = static_cast<std::uint32_t>(world.hosts.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    AppSpec app;
    app.model = dice.pick({Name("bulk"), Name("bulk"), Name("echo"), Name("chatter"),
                           Name("half_close"), Name("slow_reader"), Name("mutual")});
    app.name = app.model;
    app.client = {dice.below32(hosts)};
    app.server = {(app.client.value + 1 + dice.below32(hosts - 1)) % hosts};
    app.port = {static_cast<std::uint16_t>(5'000 + i)};
    draw_amounts(dice, world, app);
    draw_manner(dice, app);
    world.apps.push_back(app);
  }
}

void draw_full_segments(Dice& dice, World& world) {
  AppSpec& app = world.apps[0];
  std::uint64_t const talks = std::uint64_t{app.flows} * app.repeat * app.rounds;
  std::uint64_t const most = segments_max / talks * segment_bytes(world, app);
  std::uint64_t const more = dice.within({4'000, 40'000});
  if (app.model != Name("slow_reader") && most > app.bytes) {
    app.bytes = std::min(std::max(app.bytes, more), most);
  }
}

// The first connection of an application is predictable: its port is a function of the keys.
void aim_sequence_numbers(Dice& dice, World& world) {
  for (const AppSpec& app : world.apps) {
    if (!dice.percent(60)) {
      continue;
    }
    HostSpec const& client = world.hosts[app.client.value];
    HostSpec const& server = world.hosts[app.server.value];
    FourTuple tuple{{client.config.addresses[0].address, {}},
                    {server.config.addresses[0].address, app.port}};
    tcp::Config const& config = client.config.tcp;
    tuple.local.port =
        app.model == Name("mutual")
            ? app.port
            : tcp::candidate_port(config, tcp::port_offset(config, tuple), 0, Count{0});
    aim(world, dice, {app.client, tuple, app.start, 40});
    aim(world, dice, {app.server, {tuple.remote, tuple.local}, app.start, 4'000});
  }
}

}  // namespace lockstep::sim
