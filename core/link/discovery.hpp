// Neighbour discovery of IPv6 (RFC 4861, 4862) as a host: neighbours, duplicates, routers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/link/neighbours.hpp"
#include "core/memory/queue.hpp"
#include "core/units/random.hpp"
#include "core/wire/neighbour_discovery.hpp"

namespace lockstep::link {

struct DiscoveryConfig {
  Count entries_max{256};  // including static ones
  Duration reachable_time =
      Duration::seconds(30);  // base value: the actual one is 0.5 to 1.5 times it
  Duration retransmission = Duration::seconds(1);  // between two solicitations for one address
  Duration first_probe = Duration::seconds(5);     // after the first use of a stale entry
  Count tries_max{3};                              // unanswered solicitations; at least 1
  Count duplicate_tests{1};                        // DAD probes per address; 0: none
  Count announcements{0};                          // of each of our addresses, after its test
  bool follow_routers = false;                     // solicit and process router advertisements
  bool answers = true;     // answer solicitations; only one of several shards does
  Bytes mtu{1500};         // of the link; routers can only lower it
  HashKey key;             // of the table; secret from attackers
  std::uint64_t seed = 0;  // for delays that must differ between hosts
};

// The states of RFC 4861 7.3.2, and three more:
// vacant: unused slot. failed: no answer; for one interval the next hop counts as unreachable.
// fixed: configured; never solicited, changed or expired.
enum class DiscoveryState : std::uint8_t {
  vacant,
  incomplete,
  reachable,
  stale,
  delay,
  probe,
  failed,
  fixed
};

// The state of one of our addresses.
enum class TestState : std::uint8_t { none, tentative, usable, duplicate };

// One neighbour. `state` and the flags determine the lists it is in.
struct Discovered {
  IpAddress address;
  IpAddress request_source;  // our address that solicitations are sent from
  Index chain = nil;         // the next entry of its hash bucket
  Index timer = nil;         // on the shared wheel; kept once allocated
  Instant confirmed;         // the last time
  memory::Link order;        // in the list of its state; fixed entries are in none
  memory::Link transmit;     // a solicitation is to be written for it
  memory::Link change;       // resolved or failed, and not reported yet
  Mac mac;
  DiscoveryState state = DiscoveryState::vacant;
  std::uint8_t tries = 0;  // unanswered solicitations
  bool active = false;     // we have sent to it
  bool strange = false;    // only needed for hosts that have not proved to be on the link
  bool request_pending = false;
  bool router = false;  // it has the router flag

  bool in_use() const { return state != DiscoveryState::stale; }
};

// How a neighbour discovery message was received.
struct DiscoveryArrival {
  IpAddress source;
  IpAddress destination;
  Mac from;
  std::uint8_t hop_limit = 0;
  bool fragmented = false;  // after a fragment header, atomic or not
};

// The neighbour cache, the DAD tests of our addresses, and what routers advertise. A handle on the
// arena. Messages to send are recorded as state, and written by write_next().
class Discovery {
 public:
  static constexpr std::uint32_t tests_max = 16;    // of our addresses
  static constexpr std::uint32_t routers_max = 4;   // default routers (RFC 4861 requires two)
  static constexpr std::uint32_t prefixes_max = 8;  // on-link prefixes advertised by routers
  static constexpr std::uint32_t answers_max = 64;  // pending advertisements

  Discovery() = default;

  // The maximum number of timers on the wheel, and of indices in next_change().
  static Count timers_max(const DiscoveryConfig& config) {
    return Count{config.entries_max.value + tests_max + 1};
  }
  // Allocates its memory in `layout`; call start() before the first use. The timers have owners
  // from `first_owner` on.
  static Discovery lay_out(memory::Layout& layout, const DiscoveryConfig& config,
                           const memory::TimerWheel& wheel, memory::TimerOwner first_owner);
  // Sets our link identity. IPv4 addresses are skipped; at most tests_max others are used. Call it
  // once, right after lay_out, and also after a restore.
  void identify(const LinkIdentity& identity) { identity_ = identity; }
  void start();
  // Called when the time is first known: starts the tests of our addresses.
  void begin(Instant now);

  // Adds an entry that never expires; false if the table is full or the addresses are not a host's.
  [[nodiscard]] bool add_static(IpAddress address, Mac mac);

  // The link address of a next hop on this link; `source` is one of our addresses. Starts
  // solicitation if it is not known. While the source is tentative, waits for the test of that
  // address.
  Lookup resolve(const Hop& hop, Instant now);
  // Hints from the transport (RFC 4861 7.3.1): new data was acknowledged via this next hop, or
  // nothing is. doubt() is ignored for an entry confirmed more recently than a full series of tries
  // takes; both are ignored for unknown addresses.
  void confirm(IpAddress next_hop, Instant now);
  void doubt(IpAddress next_hop, Instant now);

  // The state of the address at this index among ours.
  TestState test_of(std::uint32_t index) const { return state_->tests[index].state; }

  // Processes a message with a valid checksum. Returns Drop::none, one of nd_*, ip_tentative, or
  // reply_queue_full.
  Drop receive(const DiscoveryArrival& arrival, const wire::NdMessage& message, Instant now);

  // The timer with owner `first_owner + index` fired.
  void expire(Index index, Instant now);

  bool wants_transmit() const {
    return table_.wants_transmit() || state_->tests_pending != 0 || state_->solicitation_pending ||
           !answers_.empty();
  }
  // Writes one message with its headers to the front of `into`, which must have space for 90
  // octets, and returns its length; zero if there is nothing to send.
  Bytes write_next(Instant now, std::span<std::byte> into);

  // The next neighbour, or address test, with a result, in order of occurrence.
  bool next_change(NeighbourChange& out);
  bool has_changes() const { return table_.has_changes() || state_->tests_changed != 0; }

  // The length of the longest on-link prefix advertised by routers that contains `address`; 0 if
  // there is none.
  std::uint8_t on_link_bits(IpAddress address, Instant now) const;
  // A default router, preferably one known to be reachable; false if there is none.
  bool default_router(IpAddress& out, Instant now);
  std::uint8_t hop_limit() const { return state_->hop_limit; }  // 0: none was advertised
  Bytes mtu() const { return state_->mtu; }

  // Look-up without solicitation; nil if unknown.
  Index find(IpAddress address) const { return table_.find(address); }
  const Discovered& entry(Index index) const { return table_[index]; }
  std::uint32_t used() const { return table_.used(); }
  std::uint32_t capacity() const { return table_.capacity(); }

  // Passes every relevant stored value to `add(std::uint64_t)`, in a fixed order.
  template <class Add>
  void visit(Add&& add) const;
  // Whether lists, table and timers are consistent. For tests and checks: O(entries).
  bool sound() const;

 private:
  // The test of one of our addresses.
  struct Test {
    Index timer = nil;
    TestState state = TestState::none;
    std::uint8_t sent = 0;
    std::uint8_t announced = 0;
  };
  struct Router {
    IpAddress address;
    Instant until;
  };
  struct OnLink {
    IpAddress prefix;
    Instant until;
    std::uint8_t bits = 0;
  };
  // A pending advertisement.
  struct Answer {
    IpAddress to;
    IpAddress target;
    Mac mac;
    bool solicited = false;
  };
  struct State {
    Index router_timer = nil;
    std::uint32_t tests_pending = 0;  // one bit per address: its solicitation is to be written
    std::uint32_t tests_changed = 0;  // one bit per address: has a result that was not reported yet
    std::uint32_t next_router = 0;
    Random random{0};
    std::array<Test, tests_max> tests{};
    std::array<Router, routers_max> routers{};
    std::array<OnLink, prefixes_max> prefixes{};
    Duration reachable_time;
    Duration retransmission;
    Bytes mtu;
    std::uint8_t hop_limit = 0;
    std::uint8_t solicitations = 0;  // router solicitations that were sent
    bool solicitation_pending = false;
    bool router_known = false;
  };
  // core/link/discovery.cpp: how entries are confirmed, doubted and removed.
  Index add_known(IpAddress address, Mac mac);
  void stop_asking(Index index);
  void make_reachable(Index index, Instant now);
  void make_stale(Index index);
  void fail(Index index, Instant now);
  void forget(Index index, Instant now);
  void expire_entry(Index index, Instant now);

  // core/link/solicitations.cpp: received solicitations and advertisements, and messages written.
  std::uint32_t place_of(IpAddress ours) const;
  Drop receive_solicitation(const DiscoveryArrival& arrival, const wire::NdMessage& message,
                            Instant now);
  Drop receive_advertisement(const DiscoveryArrival& arrival, const wire::NdMessage& message,
                             Instant now);
  Drop update(Index index, const wire::NdMessage& message, Instant now);
  Drop learn(IpAddress sender, Mac mac, bool router);
  Bytes write_frame(const wire::Icmp6Path& path, Mac to, const wire::NdMessage& message,
                    std::span<std::byte> into) const;
  Bytes write_answer(std::span<std::byte> into);
  Bytes write_request(Index index, Instant now, std::span<std::byte> into);

  // core/link/duplicates.cpp: duplicate address detection for our addresses.
  void expire_test(std::uint32_t index, Instant now);
  void decide(std::uint32_t index, TestState state, Instant now);
  void announce(std::uint32_t index, Instant now);
  Bytes write_test(Instant now, std::span<std::byte> into);

  // core/link/routers.cpp: router advertisements.
  Drop receive_router(const DiscoveryArrival& arrival, const wire::NdMessage& message, Instant now);
  void process_router(IpAddress router, std::uint16_t lifetime_s, Instant now);
  void process_prefix(const wire::NdPrefix& prefix, Instant now);
  void forget_router(IpAddress router);
  void begin_soliciting(Instant now);
  void expire_router_timer(Instant now);
  Bytes write_router_solicitation(Instant now, std::span<std::byte> into);

  DiscoveryConfig config_;
  LinkIdentity identity_;
  memory::TimerOwner first_owner_{};
  State* state_ = nullptr;
  NeighbourTable<Discovered> table_;
  memory::Queue<Answer> answers_;
  memory::TimerWheel wheel_;
};

template <class Add>
void Discovery::visit(Add&& add) const {
  auto const add_address = [&](IpAddress address) {
    add(address.high);
    add(address.low);
  };
  table_.visit_entries([&](const Discovered& entry, Index index) {
    add_address(entry.address);
    add_address(entry.request_source);
    add(entry.mac.number() << 16 | static_cast<std::uint64_t>(entry.state) << 8 | entry.tries);
    add(entry.confirmed.ns);
    add((entry.strange ? 8u : 0u) | (entry.active ? 4u : 0u) | (entry.request_pending ? 2u : 0u) |
        (entry.router ? 1u : 0u));
    add(table_.due(index).ns);
  });
  table_.visit_lists(add);
  for (std::uint32_t i = 0; i < answers_.count(); ++i) {
    add_address(answers_[i].to);
    add_address(answers_[i].target);
    add(answers_[i].mac.number() << 1 | (answers_[i].solicited ? 1u : 0u));
  }
  for (Test const& test : state_->tests) {
    add(std::uint64_t{test.announced} << 16 | static_cast<std::uint64_t>(test.state) << 8 |
        test.sent);
    add(test.timer == nil ? 0 : wheel_.due(test.timer).ns);
  }
  for (Router const& router : state_->routers) {
    add_address(router.address);
    add(router.until.ns);
  }
  for (OnLink const& prefix : state_->prefixes) {
    add_address(prefix.prefix);
    add(prefix.until.ns);
    add(prefix.bits);
  }
  add(std::uint64_t{state_->tests_pending} << 32 | state_->tests_changed);
  add(state_->random.state());
  add(state_->reachable_time.ns);
  add(state_->retransmission.ns);
  add(std::uint64_t{state_->mtu.count} << 32 | state_->next_router);
  add(std::uint64_t{state_->hop_limit} << 16 | std::uint64_t{state_->solicitations} << 8 |
      (state_->solicitation_pending ? 2u : 0u) | (state_->router_known ? 1u : 0u));
  add(state_->router_timer == nil ? 0 : wheel_.due(state_->router_timer).ns);
}

}  // namespace lockstep::link
