// Copies a host into shards and puts a port between them and their link.
#include "sim/kernel/spread.hpp"

#include <array>

#include "core/units/check.hpp"

namespace lockstep::sim {
namespace {

// For example "server-12". If too long, the name is cut and the number kept.
Name numbered(Name name, std::uint32_t number) {
  std::array<char, Name::length_max> text{};
  std::array<char, 4> digits{};
  std::uint32_t count = 0;
  for (std::uint32_t rest = number; count == 0 || rest != 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  std::uint32_t length = 0;
  for (char letter : name.view()) {
    if (length + 1 + count == text.size()) {
      break;
    }
    text[length++] = letter;
  }
  text[length++] = '-';
  while (count != 0) {
    text[length++] = digits[--count];
  }
  return Name(std::string_view(text.data(), length));
}

Name port_name(Name name) {
  std::array<char, Name::length_max> text{};
  constexpr std::string_view ending = "-port";
  std::uint32_t length = 0;
  for (char letter : name.view().substr(0, Name::length_max - ending.size())) {
    text[length++] = letter;
  }
  for (char letter : ending) {
    text[length++] = letter;
  }
  return Name(std::string_view(text.data(), length));
}

}  // namespace

void spread(World& world, const Spreading& how) {
  CHECK(how.shards.value >= 2);
  CHECK(how.shards.value <= ShardCount::most);
  CHECK(how.host.value < world.hosts.size());
  auto const second = static_cast<std::uint32_t>(world.hosts.size());
  HostSpec host = world.hosts[how.host.value];
  CHECK(host.config.link == LinkType::ethernet);
  Name const name = host.name;
  host.config.tcp.shards = Count{how.shards.value};
  host.shard_first = how.host;
  host.shard_second = {second};
  if (!host.nic.plain() && how.missteer.per_billion != 0) {
    host.nic.mispredicted = how.missteer;  // the NIC does the steering
  }
  world.hosts[how.host.value] = host;
  for (std::uint32_t shard = 1; shard < how.shards.value; ++shard) {
    host.name = numbered(name, shard);
    host.config.tcp.shard = Count{shard};
    world.hosts.push_back(host);
  }
  NodeRef const port{NodeKind::learning_switch, static_cast<std::uint32_t>(world.switches.size())};
  SwitchSpec made;
  made.name = port_name(name);
  made.shards = how.shards.value;
  made.missteer = host.nic.plain() ? how.missteer : Probability{};
  world.switches.push_back(made);
  NodeRef const self{NodeKind::host, how.host.value};
  LaneSpec queue;
  for (LinkSpec& link : world.links) {
    for (NodeRef* end : {&link.a, &link.b}) {
      if (*end == self) {
        *end = port;
        queue.mtu_bytes = link.forward.mtu_bytes > link.back.mtu_bytes ? link.forward.mtu_bytes
                                                                       : link.back.mtu_bytes;
      }
    }
  }
  for (std::uint32_t shard = 0; shard < how.shards.value; ++shard) {
    NodeRef const to{NodeKind::host, host.sibling({shard}).value};
    world.links.push_back({numbered(made.name, shard), port, to, queue, queue});
  }
  std::size_t const faults = world.host_faults.size();
  for (std::size_t i = 0; i < faults; ++i) {
    HostFaultSpec fault = world.host_faults[i];
    for (std::uint32_t shard = 1; fault.host == how.host && shard < how.shards.value; ++shard) {
      HostFaultSpec same = fault;
      same.host = host.sibling({shard});
      world.host_faults.push_back(same);
    }
  }
}

AppSpec share_of(const AppSpec& app, ShardId shard, ShardCount shards) {
  AppSpec mine = app;
  mine.flows = (app.flows - shard.value + shards.value - 1) / shards.value;
  mine.start = app.start + Duration{app.stagger.ns * shard.value};
  mine.stagger = Duration{app.stagger.ns * shards.value};
  mine.draws.stream = stream_of_flow(app.draws, "shard", shard.value);
  return mine;
}

}  // namespace lockstep::sim
