// A world as plain data: hosts, stations, switches, links, applications, faults, and its time
// limit.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/stack/config.hpp"
#include "core/units/address.hpp"
#include "core/units/random.hpp"
#include "core/units/shard.hpp"
#include "core/units/time.hpp"
#include "sim/bus/lane.hpp"
#include "sim/bus/name.hpp"
#include "sim/clock/host_clock.hpp"
#include "sim/draws/draw.hpp"
#include "sim/faults/rule.hpp"
#include "sim/kernel/text.hpp"
#include "sim/routers/spec.hpp"

namespace lockstep::sim {

// A host runs a Stack behind turn(); a station sends raw frames; a switch forwards.
// A router forwards packets between links.
enum class NodeKind : std::uint8_t { host, station, learning_switch, router };

// Identifies a node by its kind and its position in the world's list of that kind.
struct NodeRef {
  NodeKind kind = NodeKind::host;
  std::uint32_t index = 0;
  constexpr bool operator==(const NodeRef&) const = default;
};

// Identifies a host by its position in World::hosts.
struct HostIndex {
  std::uint32_t value = 0;
  constexpr bool operator==(const HostIndex&) const = default;
};

// How a NIC chooses the worker of a frame.
enum class NicHash : std::uint8_t {
  ours,      // by shard_of: the shard that owns the flow
  nic,       // by the NIC's own function, symmetric and additive
  one,       // all to one worker
  lopsided,  // by a function that separates the two directions of a flow
};

// The NIC of a host without the plain port. Its errors are drawn from the seed, with a probability
// per frame or call; by default there are none.
struct NicSpec {
  Name driver;                   // empty: the plain port; otherwise a name in the registry
  std::uint32_t batch = 16;      // frames handed to the NIC at once
  NicHash hash = NicHash::ours;  // for a host with several shards
  Duration completion;           // from transmission until the buffer can be reused
  Probability no_buffer{};       // a received frame finds no buffer
  Probability ring_full{};       // a received frame finds no descriptor
  Probability truncated{};       // a received frame is truncated
  Probability bad_sum{};         // a received frame is damaged and the NIC detects it
  Probability mispredicted{};    // a frame goes to another worker
  Probability not_ready{};       // the NIC has no transmit buffer for a while
  Probability late{};            // a buffer is returned late
  Duration late_by = Duration::microseconds(50);
  Duration link_up_for;  // alternates with link_down_for; zero: always up
  Duration link_down_for;
  Instant errors_until = Instant::never();  // no errors from then on
  // Whether it loses frames. Only those errors are faults that must end before liveness is
  // required.
  constexpr bool errs() const {
    return no_buffer.per_billion != 0 || ring_full.per_billion != 0 || truncated.per_billion != 0 ||
           bad_sum.per_billion != 0 || link_down_for.ns != 0;
  }
  constexpr bool plain() const { return driver.empty(); }
};

struct HostSpec {
  Name name;
  Config config;
  ClockSpec clock;
  Duration poll;                      // minimum interval between turns; zero: none
  std::uint32_t transmit_ring = 256;  // committed frames whose transmission is not complete
  std::uint32_t receive_ring = 1024;  // frames that wait for a turn
  NicSpec nic;
  // Hosts on links of one NIC (share_nic): the host that owns the NIC, which of its links this host
  // is on, and, for the owner, the number of links.
  HostIndex nic_first{};
  std::uint32_t nic_link = 0;
  std::uint32_t nic_links = 1;
  // For several shards behind one port (spread.hpp): the first shard and the second; the others
  // follow the second.
  HostIndex shard_first{};
  HostIndex shard_second{};
  constexpr std::uint32_t shards() const { return config.tcp.shards.value; }
  // Frames per burst from the port: half a burst where frames of other shards are added.
  constexpr std::uint32_t port_burst() const {
    std::uint32_t const all = config.burst_frames.value;
    return shards() == 1 || all == 1 ? all : all / 2;
  }
  constexpr HostIndex sibling(ShardId shard) const {
    return shard.value == 0 ? shard_first : HostIndex{shard_second.value + shard.value - 1};
  }
};

// A node without a Stack; the registry creates it by the name of its model.
struct StationSpec {
  Name name;
  Name model;
  Mac mac;
  IpAddress address;
  Duration every = Duration::milliseconds(10);  // between two of its actions
  std::uint64_t acts = 1'000;                   // then it is silent
  // For a station that is another TCP: which one, its settings as lines "name=value", and the MTU
  // of its link.
  Text device;
  Text settings;
  std::uint32_t mtu_bytes = 1'500;
};

struct SwitchSpec {
  Name name;
  std::uint32_t addresses_max = 1'024;
  // Not 0: the port of a host with that many shards instead of a switch. The first of its links is
  // the wire, the others lead to the shards in order; shard_of decides where frames go.
  std::uint32_t shards = 0;
  Probability missteer{};  // probability that a frame goes to another shard
};

// Two lanes: forward from `a` to `b`, back from `b` to `a`.
struct LinkSpec {
  Name name;
  NodeRef a;
  NodeRef b;
  LaneSpec forward;
  LaneSpec back;
};

// How the side that has written everything ends the connection.
enum class CloseMode : std::uint8_t { finish, close, abort };

// One application: a client on one host, its server on another. A model ignores the fields that it
// does not use.
struct AppSpec {
  Name name;
  Name model;
  HostIndex client;
  HostIndex server;
  IpAddress server_address;  // unspecified: the first one of `server`
  Port port{5000};
  Duration start;                                    // by the client's clock, after its origin
  std::uint32_t flows = 1;                           // concurrent connections
  std::uint32_t repeat = 1;                          // connections of each flow, sequential
  Duration stagger;                                  // between the starts of two flows
  std::uint64_t bytes = 65'536;                      // sent by the client per connection
  std::uint64_t reply_bytes = 0;                     // sent by the server per connection or request
  std::uint32_t rounds = 1;                          // requests per connection
  Duration think;                                    // before the next request or connection
  std::uint64_t read_bytes = 1'024;                  // slow reader: bytes per read
  Duration read_every = Duration::milliseconds(10);  // slow reader: interval
  Duration read_after;             // slow reader: delay of the first read after `accepted`
  bool lend = false;               // lend the bytes instead of copying them
  std::uint32_t urgent_every = 0;  // mark every n-th write urgent; zero: none
  std::uint32_t fast_open = 0;     // Fast Open: pending requests at the server; zero: off
  CloseMode close_mode = CloseMode::finish;
  AppDraws draws;  // what is drawn takes the place of `start`, `stagger`, `bytes` and `think`
};

// An application of which at least one end is a station. `app.client` and `app.server` are used for
// the ends that are hosts.
struct StationAppSpec {
  AppSpec app;
  NodeRef client;
  NodeRef server;
};

struct LaneFaultSpec {
  Name name;
  std::uint32_t link = 0;  // position in World::links
  bool forward = true;
  bool back = true;
  Active active;
  LaneFault fault;
};

struct HostFaultSpec {
  Name name;
  HostIndex host;
  Active active;
  HostFault fault;
};

struct World {
  Name name;
  std::vector<HostSpec> hosts;
  std::vector<StationSpec> stations;
  std::vector<SwitchSpec> switches;
  std::vector<RouterSpec> routers;
  std::vector<LinkSpec> links;
  std::vector<AppSpec> apps;
  std::vector<StationAppSpec> station_apps;
  std::vector<LaneFaultSpec> lane_faults;
  std::vector<HostFaultSpec> host_faults;
  Duration limit = Duration::seconds(600);  // the run ends here at the latest
  std::uint32_t invariants_every = 1;       // turns of a host between two checks; zero: no checks
  bool served = false;                      // every connection must succeed, whatever happens
};

// When the last fault ends; never if one does not end.
Instant faults_end(const World& world);

// Assigns a link address by position to every host and station without one.
void give_macs(World& world);

// Why a Kernel cannot run this world, or empty. `subject` names the offending item.
struct WorldFault {
  std::string_view what;
  Name subject;
  constexpr bool none() const { return what.empty(); }
};
WorldFault fault_of(const World& world);

// The world with keys, derived from the seed and the name, for each host without any. The shards of
// a host share keys, because a cookie issued by one may be returned to another.
World with_keys(World world, std::uint64_t seed);

// Puts `other` on the next link of the NIC of `first`: two stacks, one link each, on one NIC, which
// steers and errs as specified for `first`. CHECKs that `first` precedes `other` in the world and
// owns a NIC.
void share_nic(World& world, HostIndex first, HostIndex other);

// Why a host cannot have the NIC that it names, or empty.
std::string_view fault_of_nic(const HostSpec& host);

}  // namespace lockstep::sim
