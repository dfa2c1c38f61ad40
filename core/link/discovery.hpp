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
  Count entries_max{256};                           // static ones included
  Duration reachable_time = Duration::seconds(30);  // the base: half to one and a half of it
  Duration retransmission = Duration::seconds(1);   // between two solicitations for one address
  Duration first_probe = Duration::seconds(5);      // from the first use of a stale entry
  Count tries_max{3};                               // solicitations without an answer; at least 1
  Count duplicate_tests{1};     // solicitations of each test for a duplicate; 0: no test
  Count announcements{0};       // of each address of ours, once it was tested
  bool follow_routers = false;  // solicit and heed router advertisements
  bool answers = true;          // solicitations; of several shards one does
  Bytes mtu{1500};              // of the link: what routers may only lower
  HashKey key;                  // of the table; an outsider must not know it
  std::uint64_t seed = 0;       // of the delays that must differ from host to host
};

// The states of RFC 4861 7.3.2, and three of ours:
// vacant: the slot belongs to nobody. failed: nobody answered; for one interval the next hop counts
// as unreachable. fixed: given by configuration, never asked for, never changed, never expires.
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

// What is known of an address of our own.
enum class TestState : std::uint8_t { none, tentative, usable, duplicate };

// One neighbour. Which lists it is in follows from `state` and the flags.
struct Discovered {
  IpAddress address;
  IpAddress request_source;  // which of our addresses asks
  Index chain = nil;         // the next of its hash bucket
  Index timer = nil;         // of the shared wheel, its own for good once it was taken
  Instant confirmed;         // the last time
  memory::Link order;        // in a list by its state, but fixed ones
  memory::Link transmit;     // a solicitation is to be written for it
  memory::Link change;       // it was resolved or failed, and nobody was told yet
  Mac mac;
  DiscoveryState state = DiscoveryState::vacant;
  std::uint8_t tries = 0;  // solicitations since the last answer
  bool active = false;     // we have sent to it
  bool strange = false;    // only strangers have it asked for
  bool owes_request = false;
  bool router = false;  // it says that it is one

  bool in_use() const { return state != DiscoveryState::stale; }
};

// How a message of neighbour discovery came.
struct DiscoveryArrival {
  IpAddress source;
  IpAddress destination;
  Mac from;
  std::uint8_t hop_limit = 0;
  bool fragmented = false;  // behind a fragment header, atomic or not
};

// The cache of neighbours, the tests of our own addresses, and what routers have told. A handle on
// the arena. Nothing is sent: what is to be sent is state, and written when asked for.
class Discovery {
 public:
  static constexpr std::uint32_t tests_max = 16;    // addresses of ours
  static constexpr std::uint32_t routers_max = 4;   // default routers (RFC 4861 asks for two)
  static constexpr std::uint32_t prefixes_max = 8;  // on-link prefixes that routers told
  static constexpr std::uint32_t answers_max = 64;  // advertisements owed

  Discovery() = default;

  // How many timers of the wheel are opened at most, and how many indices next_change() can name.
  static Count timers_max(const DiscoveryConfig& config) {
    return Count{config.entries_max.value + tests_max + 1};
  }
  // Takes its place in `layout`; call start() before the first use. The timers carry owners from
  // `first_owner` on.
  static Discovery lay_out(memory::Layout& layout, const DiscoveryConfig& config,
                           const memory::TimerWheel& wheel, memory::TimerOwner first_owner);
  // Says who we are: IPv4 addresses among ours are stepped over, at most tests_max count. Once,
  // before anything else but lay_out, after a restore too.
  void identify(const LinkIdentity& identity) { identity_ = identity; }
  void start();
  // The world has told the time for the first time: the tests of our addresses begin.
  void begin(Instant now);

  // Adds an entry that never expires; false if there is no room or the addresses are no host's.
  [[nodiscard]] bool add_static(IpAddress address, Mac mac);

  // The link address of a next hop on this link; `source` is one of our addresses. Begins to ask
  // if it is not known. While the source is tentative: waiting, for the test of that address.
  Lookup resolve(const Hop& hop, Instant now);
  // Transport's advice (RFC 4861 7.3.1): something new was acknowledged by way of this next hop,
  // or nothing comes back. Doubt of an entry that is younger than all tries take is ignored, and so
  // is an address that is not known.
  void confirm(IpAddress next_hop, Instant now);
  void doubt(IpAddress next_hop, Instant now);

  // The state of our address at this place among ours.
  TestState test_of(std::uint32_t index) const { return state_->tests[index].state; }

  // Takes in a message whose checksum is good. Drop::none, or one of nd_*, ip_tentative, or
  // reply_queue_full.
  Drop receive(const DiscoveryArrival& arrival, const wire::NdMessage& message, Instant now);

  // The timer with the owner `first_owner + index` has fired.
  void expire(Index index, Instant now);

  bool wants_transmit() const {
    return table_.wants_transmit() || state_->tests_owed != 0 || state_->owes_solicitation ||
           !answers_.empty();
  }
  // Writes one message with its headers to the front of `into`, which holds 90 octets, and gives
  // their number; none if nothing is to be sent.
  Bytes write_next(Instant now, std::span<std::byte> into);

  // The next neighbour or test of ours that was decided, in order of occurrence.
  bool next_change(NeighbourChange& out);
  bool has_changes() const { return table_.has_changes() || state_->tests_changed != 0; }

  // What routers have told. The length of the longest prefix that is on-link by their word and
  // holds `address`; 0 if none does.
  std::uint8_t on_link_bits(IpAddress address, Instant now) const;
  // A default router: one that is known to answer rather than one that is not; false if none is.
  bool default_router(IpAddress& out, Instant now);
  std::uint8_t hop_limit() const { return state_->hop_limit; }  // 0: none was told
  Bytes mtu() const { return state_->mtu; }

  // What is known without asking; nil if nothing is.
  Index find(IpAddress address) const { return table_.find(address); }
  const Discovered& entry(Index index) const { return table_[index]; }
  std::uint32_t used() const { return table_.used(); }
  std::uint32_t capacity() const { return table_.capacity(); }

  // Hands every stored value of meaning to `add(std::uint64_t)`, in a fixed order.
  template <class Add>
  void visit(Add&& add) const;
  // Whether lists, table and timers agree. For tests and checkers: O(entries).
  bool sound() const;

 private:
  // The test of one of our own addresses.
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
  // An advertisement of ours that is to leave.
  struct Answer {
    IpAddress to;
    IpAddress target;
    Mac mac;
    bool solicited = false;
  };
  struct State {
    Index router_timer = nil;
    std::uint32_t tests_owed = 0;     // one bit an address: its solicitation is to be written
    std::uint32_t tests_changed = 0;  // one bit an address: decided, and nobody was told yet
    std::uint32_t next_router = 0;
    Random random{0};
    std::array<Test, tests_max> tests{};
    std::array<Router, routers_max> routers{};
    std::array<OnLink, prefixes_max> prefixes{};
    Duration reachable_time;
    Duration retransmission;
    Bytes mtu;
    std::uint8_t hop_limit = 0;
    std::uint8_t solicitations = 0;  // of routers, that were sent
    bool owes_solicitation = false;
    bool router_heard = false;
  };
  // core/link/discovery.cpp: how an entry is believed, doubted and forgotten.
  Index add_known(IpAddress address, Mac mac);
  void stop_asking(Index index);
  void make_reachable(Index index, Instant now);
  void make_stale(Index index);
  void fail(Index index, Instant now);
  void forget(Index index, Instant now);
  void expire_entry(Index index, Instant now);

  // core/link/solicitations.cpp: what neighbours ask and say, and what is written to them.
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

  // core/link/duplicates.cpp: the tests of our own addresses.
  void expire_test(std::uint32_t index, Instant now);
  void decide(std::uint32_t index, TestState state, Instant now);
  void announce(std::uint32_t index, Instant now);
  Bytes write_test(Instant now, std::span<std::byte> into);

  // core/link/routers.cpp: what routers tell.
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
    add((entry.strange ? 8u : 0u) | (entry.active ? 4u : 0u) | (entry.owes_request ? 2u : 0u) |
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
  add(std::uint64_t{state_->tests_owed} << 32 | state_->tests_changed);
  add(state_->random.state());
  add(state_->reachable_time.ns);
  add(state_->retransmission.ns);
  add(std::uint64_t{state_->mtu.count} << 32 | state_->next_router);
  add(std::uint64_t{state_->hop_limit} << 16 | std::uint64_t{state_->solicitations} << 8 |
      (state_->owes_solicitation ? 2u : 0u) | (state_->router_heard ? 1u : 0u));
  add(state_->router_timer == nil ? 0 : wheel_.due(state_->router_timer).ns);
}

}  // namespace lockstep::link
