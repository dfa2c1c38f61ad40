// Applies the cuts in order, repeatedly until none succeeds.
#include "sim/swarm/shrink.hpp"

#include <algorithm>

#include "sim/swarm/draw.hpp"

namespace lockstep::sim {
namespace {

enum class Cut : std::uint8_t {
  lane_fault,
  host_fault,
  app,
  station_acts,
  flows,
  repeats,
  rounds,
  bytes,
  plain_app,
  plain_host,
  config,
  plain_link,
};
constexpr std::uint32_t cut_count = 12;
constexpr std::uint32_t parts_max = 16;  // per kind of part

template <class T>
bool erase_one(std::vector<T>& from, std::uint32_t index) {
  if (index >= from.size()) {
    return false;
  }
  from.erase(from.begin() + index);
  return true;
}

template <class T>
bool lower(T& value, T to) {
  bool const lowers = value > to;
  value = lowers ? to : value;
  return lowers;
}

bool plain(AppSpec& app) {
  bool const was = app.lend || app.urgent_every != 0 || app.think.ns != 0 || app.stagger.ns != 0 ||
                   app.fast_open != 0 || app.draws.any();
  app.lend = false;
  app.urgent_every = 0;
  app.fast_open = 0;
  app.think = {};
  app.stagger = {};
  app.draws = {};
  return was;
}

bool plain(HostSpec& host) {
  bool const was = host.clock.origin.ns != 0 || host.clock.skew_ppb != 0 || host.poll.ns != 0 ||
                   host.transmit_ring != 256 || host.receive_ring != 1'024;
  host.clock = {};
  host.poll = {};
  host.transmit_ring = 256;
  host.receive_ring = 1'024;
  return was;
}

// A queue that drops only what is too much.
bool plain(LinkSpec& link) {
  bool const was = !link.forward.output.plain() || !link.back.output.plain();
  link.forward.output = {};
  link.back.output = {};
  return was;
}

// Resets TCP's constants to those of Config{}, except the fields that the world depends on.
bool plain(Config& config) {
  tcp::Config const bare;
  bool const was = config.tcp.blocks_max != bare.blocks_max;
  Bytes const mss = config.tcp.mss;
  Bytes const mss_least = config.tcp.mss_least;
  Sequence const base = config.tcp.isn_base;
  HashKey const keys[] = {config.tcp.table_key, config.tcp.isn_key, config.tcp.port_key,
                          config.tcp.fast_open_key, config.tcp.timestamp_key};
  config.tcp = bare;
  config.tcp.mss = mss;
  config.tcp.mss_least = mss_least;
  config.tcp.isn_base = base;
  config.tcp.table_key = keys[0];
  config.tcp.isn_key = keys[1];
  config.tcp.port_key = keys[2];
  config.tcp.fast_open_key = keys[3];
  config.tcp.timestamp_key = keys[4];
  return was;
}

bool cut_app(AppSpec& app, Cut cut) {
  switch (cut) {
    case Cut::flows:
      return lower(app.flows, 1u);
    case Cut::repeats:
      return lower(app.repeat, 1u);
    case Cut::rounds:
      return lower(app.rounds, 1u);
    case Cut::bytes:
      // Down to one: a request of zero length is never answered.
      return (app.bytes > 1 && lower(app.bytes, app.bytes / 2)) ||
             lower(app.reply_bytes, app.reply_bytes / 2);
    default:
      return plain(app);
  }
}

// Whether something was cut.
bool apply(World& world, Cut cut, std::uint32_t index) {
  switch (cut) {
    case Cut::lane_fault:
      return erase_one(world.lane_faults, index);
    case Cut::host_fault:
      return erase_one(world.host_faults, index);
    case Cut::app:
      return world.apps.size() > 1 && erase_one(world.apps, index);
    case Cut::station_acts:
      return index < world.stations.size() &&
             lower(world.stations[index].acts, world.stations[index].acts / 2);
    case Cut::flows:
    case Cut::repeats:
    case Cut::rounds:
    case Cut::bytes:
    case Cut::plain_app:
      return index < world.apps.size() && cut_app(world.apps[index], cut);
    case Cut::plain_host:
      return index < world.hosts.size() && plain(world.hosts[index]);
    case Cut::config:
      return index < world.hosts.size() && plain(world.hosts[index].config);
    case Cut::plain_link:
      return index < world.links.size() && plain(world.links[index]);
  }
  return false;
}

}  // namespace

bool Shrinker::next(World& candidate) {
  while (tries_ < tries_max) {
    if (at_ == cut_count * parts_max) {
      if (!cut_any_) {
        return false;
      }
      at_ = 0;
      cut_any_ = false;
    }
    candidate_ = smallest_;
    bool const cut = apply(candidate_, static_cast<Cut>(at_ / parts_max), at_ % parts_max);
    ++at_;
    if (cut) {
      ++tries_;
      candidate = candidate_;
      return true;
    }
  }
  return false;
}

void Shrinker::answer(bool still_fails) {
  if (still_fails) {
    smallest_ = candidate_;
    cut_any_ = true;
    // Repeats this position: the next part has moved into it.
    --at_;
  }
}

}  // namespace lockstep::sim
