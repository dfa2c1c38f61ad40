// A world as plain data: hosts, stations, switches, links, applications, faults, and how long.
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
#include "sim/faults/rule.hpp"

namespace lockstep::sim {

// A host runs a real Stack behind the real turn(); a station speaks raw frames; a switch forwards.
enum class NodeKind : std::uint8_t { host, station, learning_switch };

// Names a node by its kind and its position in the world's list of that kind.
struct NodeRef {
  NodeKind kind = NodeKind::host;
  std::uint32_t index = 0;
  constexpr bool operator==(const NodeRef&) const = default;
};

// Names a host by its position in World::hosts.
struct HostIndex {
  std::uint32_t value = 0;
  constexpr bool operator==(const HostIndex&) const = default;
};

// Which of its workers a NIC gives a frame to.
enum class NicHash : std::uint8_t {
  ours,      // as shard_of has it: whose home it is
  nic,       // by a symmetric, additive function of its own
  one,       // all to one worker
  lopsided,  // by a function that the two ways of a flow differ in
};

// The NIC of a host whose port is not the plain one. How it errs is drawn from the seed, each
// chance for a frame or a call; a NIC without any is as good as none.
struct NicSpec {
  Name driver;                   // empty: the plain port; or a name that the registry knows
  std::uint32_t batch = 16;      // frames handed to the NIC at once
  NicHash hash = NicHash::ours;  // of a host of several shards
  Duration completion;           // after it has left, until its buffer can be used again
  Probability no_buffer{};       // a frame finds no buffer
  Probability ring_full{};       // ... or no descriptor
  Probability truncated{};       // a part of it is lost
  Probability bad_sum{};         // it is damaged, and the NIC sees that
  Probability mispredicted{};    // another worker gets it
  Probability not_ready{};       // the NIC has no buffer to send for a while
  Probability late{};            // a buffer comes back late
  Duration late_by = Duration::microseconds(50);
  Duration link_up_for;  // and then down, over and over; zero: always up
  Duration link_down_for;
  Instant errors_until = Instant::never();  // flawless from then on
  // What of it loses frames: only these are faults that have to end before all must be well.
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
  Duration poll;                      // turns are at least this far apart; zero: at once
  std::uint32_t transmit_ring = 256;  // frames committed that have not wholly left
  std::uint32_t receive_ring = 1024;  // frames that wait for a turn
  NicSpec nic;
  // Hosts that stand on links of one NIC (share_nic): whose NIC it is, on which of its links
  // this one is, and, where it is the first, how many there are.
  HostIndex nic_first{};
  std::uint32_t nic_link = 0;
  std::uint32_t nic_links = 1;
  // Of several stacks behind one port (spread.hpp): where the first is, and the second; the others
  // follow that one.
  HostIndex shard_first{};
  HostIndex shard_second{};
  constexpr std::uint32_t shards() const { return config.tcp.shards.value; }
  // Frames that the port hands out at once: half of a burst where the other shards' come too.
  constexpr std::uint32_t port_burst() const {
    std::uint32_t const all = config.burst_frames.value;
    return shards() == 1 || all == 1 ? all : all / 2;
  }
  constexpr HostIndex sibling(ShardId shard) const {
    return shard.value == 0 ? shard_first : HostIndex{shard_second.value + shard.value - 1};
  }
};

// A node that is no Stack: the registry makes it by the name of its model.
struct StationSpec {
  Name name;
  Name model;
  Mac mac;
  IpAddress address;
  Duration every = Duration::milliseconds(10);  // between two acts of its own
  std::uint64_t acts = 1'000;                   // then it falls silent
};

struct SwitchSpec {
  Name name;
  std::uint32_t addresses_max = 1'024;
  // Not 0: no switch, but the port of a host of so many shards. The first of its links is the wire,
  // the others lead to the shards in their order; frames go where shard_of says.
  std::uint32_t shards = 0;
  Probability missteer{};  // that a frame for one shard goes to another one
};

// Two lanes: forward from `a` to `b`, back from `b` to `a`.
struct LinkSpec {
  Name name;
  NodeRef a;
  NodeRef b;
  LaneSpec forward;
  LaneSpec back;
};

// How the side that has written all it wants to says so.
enum class CloseMode : std::uint8_t { finish, close, abort };

// One application: a client on one host, its server on another. What a model does not use, it
// ignores.
struct AppSpec {
  Name name;
  Name model;
  HostIndex client;
  HostIndex server;
  Port port{5000};
  Duration start;                    // by the client's clock, after its origin
  std::uint32_t flows = 1;           // connections side by side
  std::uint32_t repeat = 1;          // connections of each flow, one after the other
  Duration stagger;                  // between the starts of two flows
  std::uint64_t bytes = 65'536;      // that the client sends on a connection
  std::uint64_t reply_bytes = 0;     // that the server sends: on a connection, or for a request
  std::uint32_t rounds = 1;          // requests on a connection
  Duration think;                    // before the next request or connection
  std::uint64_t read_bytes = 1'024;  // slow reader: at a time
  Duration read_every = Duration::milliseconds(10);  // slow reader
  Duration read_after;             // slow reader: not a byte before, from `accepted`
  bool lend = false;               // lend the bytes instead of writing them
  std::uint32_t urgent_every = 0;  // mark every so manyth write urgent; zero: none
  std::uint32_t fast_open = 0;     // Fast Open, how many at once; where Config has it on
  CloseMode close_mode = CloseMode::finish;
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
  std::vector<LinkSpec> links;
  std::vector<AppSpec> apps;
  std::vector<LaneFaultSpec> lane_faults;
  std::vector<HostFaultSpec> host_faults;
  Duration limit = Duration::seconds(600);  // the run ends here at the latest
  std::uint32_t invariants_every = 1;       // turns of a host between two checks; zero: none
  bool served = false;                      // nothing excuses a connection that does not succeed
};

// When the last fault that ends is over; never if one does not end.
Instant faults_end(const World& world);

// Gives every host and station that has no link address one by its position.
void give_macs(World& world);

// Why a Kernel cannot be made of this world, in words, or empty. `subject` names what is wrong.
struct WorldFault {
  std::string_view what;
  Name subject;
  constexpr bool none() const { return what.empty(); }
};
WorldFault fault_of(const World& world);

// The world with keys for each host that names none, by the seed and its name. The shards of a host
// share theirs: what one of them has shown to a peer may come back to another.
World with_keys(World world, std::uint64_t seed);

// Puts `other` on the next link of the NIC that `first` has: two stacks, a link each, one NIC,
// which steers and errs as that of `first` does. CHECKs that `first` stands before it in the world
// and has a NIC of its own.
void share_nic(World& world, HostIndex first, HostIndex other);

// Why a host cannot have the NIC that it names, in words, or empty.
std::string_view fault_of_nic(const HostSpec& host);

}  // namespace lockstep::sim
