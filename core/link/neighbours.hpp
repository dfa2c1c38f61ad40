// IPv4 neighbours: the link address of an IP address, resolved by ARP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/link/address_conflict.hpp"
#include "core/link/neighbour_table.hpp"
#include "core/units/drop.hpp"
#include "core/units/random.hpp"
#include "core/wire/arp.hpp"

namespace lockstep::link {

struct NeighbourConfig {
  Count entries_max{256};                           // including static ones; at least 1
  Duration reachable_time = Duration::seconds(60);  // how long an answer is valid
  Duration retry_interval = Duration::seconds(1);   // between two requests for one address
  Count tries_max{3};                               // unanswered requests; at least 1
  Count announcements{0};                           // of each of our addresses at start-up
  Count probes{0};                                  // of each of them before it is used
  Duration probe_interval = Duration::seconds(2);   // at most, between two of these
  bool defends = false;                             // our addresses against other hosts
  std::uint64_t seed = 0;                           // of the time between two probes
  HashKey key;                                      // of the table; secret from attackers
};

// Our identity on this link. The addresses must outlive the cache.
struct LinkIdentity {
  Mac mac;
  std::span<const IpAddress> addresses;
  std::uint16_t vlan = 0;  // of all frames; 0: no tag
};

// vacant:     unused slot
// incomplete: no link address yet; requests are sent, connections may wait
// reachable:  the link address was confirmed within the reachable time
// probing:    the link address is old: it is used while requests are sent to confirm it
// failed:     no answer; for one retry interval the next hop counts as unreachable, unless an
//             answer arrives after all
// fixed:      configured: never requested, changed or expired
enum class NeighbourState : std::uint8_t { vacant, incomplete, reachable, probing, failed, fixed };

// One neighbour. `state` and the flags determine the lists it is in.
struct Neighbour {
  IpAddress address;
  Index chain = nil;      // the next entry of its hash bucket
  Index timer = nil;      // on the shared wheel; kept once allocated
  Instant confirmed;      // the last time
  memory::Link order;     // in the list of its state; fixed entries are in none
  memory::Link transmit;  // an ARP packet is to be written for it
  memory::Link change;    // resolved or failed, and not reported yet
  Ipv4 request_source;    // our address that requests are sent from
  Ipv4 reply_source;      // our address that it requested
  Mac mac;
  NeighbourState state = NeighbourState::vacant;
  std::uint8_t tries = 0;  // unanswered requests
  bool used = false;       // we have sent to it since it was last confirmed
  bool active = false;     // we have sent to it
  bool strange = false;    // only needed for hosts that have not proved to be on the link
  bool request_pending = false;
  bool reply_pending = false;

  bool in_use() const { return used; }
};

// The result of resolve() for a next hop.
enum class LookupKind : std::uint8_t {
  resolved,     // `mac` is its link address
  waiting,      // a request was sent: next_change() will report `neighbour`
  unreachable,  // no recent answer, or the cache is full: try later
};

struct Lookup {
  LookupKind kind = LookupKind::unreachable;
  Index neighbour = nil;  // below entries_max; nil only if the cache is full
  Mac mac;
};

// A next hop, and our address from which we send to it.
struct Hop {
  IpAddress next_hop;
  IpAddress source;
  Asker asker = Asker::ours;
};

// A neighbour was resolved, or did not answer: connections that wait for it are to be notified.
struct NeighbourChange {
  Index neighbour = nil;
  bool resolved = false;
};

// The ARP cache, and the detection of address conflicts (RFC 5227). A handle on the arena. Packets
// to send are recorded as state, and written by write_next(). Every function is O(1) apart from
// hash chains.
class Neighbours {
 public:
  Neighbours() = default;

  // The maximum number of timers on the wheel.
  static Count timers_max(const NeighbourConfig& config) {
    return Count{config.entries_max.value + 1};
  }

  // Allocates the cache in `layout`; call start() before the first use. The timer of entry i has
  // the owner `first_owner.value + i`.
  static Neighbours lay_out(memory::Layout& layout, const NeighbourConfig& config,
                            const memory::TimerWheel& wheel, memory::TimerOwner first_owner);
  // Sets our identity. Call it once, right after lay_out, and also after a restore.
  void identify(const LinkIdentity& identity) { identity_ = identity; }
  // Empties the cache; the wheel must have been started before.
  void start();
  // Called when the time is first known: tests and announces our addresses.
  void begin(Instant now);
  // One bit for each IPv4 address of ours, by its place in the identity: those that are being
  // tested, and those that another host had before us. Neither is used.
  std::uint32_t tentative() const { return state_->tentative; }
  std::uint32_t duplicates() const { return state_->duplicates; }
  // Both: they are disjoint.
  std::uint32_t unusable() const { return state_->unusable; }
  const AddressConflict& last_conflict() const { return state_->conflict; }

  // Adds or changes an entry that never expires; false if the cache is full or the addresses are
  // not a host's. Only before the first frame.
  [[nodiscard]] bool add_static(IpAddress address, Mac mac);

  // The link address of a next hop on this link, which must be a unicast IPv4 address of another
  // host; `source` is one of our addresses. Starts requesting if it is not known.
  Lookup resolve(const Hop& hop);
  // Look-up without a request; nil (vacant) if unknown.
  Index find(IpAddress address) const { return table_.find(address); }
  const Neighbour& entry(Index index) const { return table_[index]; }

  // Negative advice from the transport: nothing is received via this next hop (RFC 1122 3.3.1.4).
  // Verifies the entry at once, unless it was confirmed more recently than a full series of tries
  // takes: so unanswered segments cause no more requests than that. Ignored for unknown addresses.
  void doubt(IpAddress next_hop, Instant now);

  // Processes an ARP packet (RFC 826). Returns Drop::none, arp_unsolicited, arp_not_for_us,
  // arp_bad_sender, arp_conflict, ip_tentative, arp_static_conflict or arp_cache_full.
  Drop receive(const wire::ArpPacket& packet, Instant now);

  // The timer with owner `first_owner + index` fired.
  void expire(Index index, Instant now);

  // Whether an ARP packet can be written. If its frame is then not sent, it is lost, as on the
  // wire.
  bool wants_transmit() const {
    return table_.wants_transmit() ||
           (state_->pending | state_->probes_pending | state_->asker_count) != 0;
  }
  // Writes one ARP packet with its Ethernet header to the front of `into`, which must have space
  // for 46 octets, and returns its length; zero if there is nothing to send.
  Bytes write_next(Instant now, std::span<std::byte> into);

  // The next neighbour that was resolved or failed, in order of occurrence.
  bool next_change(NeighbourChange& out);
  bool has_changes() const { return table_.has_changes(); }

  std::uint32_t used() const { return table_.used(); }
  std::uint32_t capacity() const { return table_.capacity(); }

  // Passes every relevant stored value to `add(std::uint64_t)`, in a fixed order.
  template <class Add>
  void visit(Add&& add) const;
  // Whether lists, table and timers are consistent. For tests and checks: O(entries).
  bool sound() const;

 private:
  // A host that requests `target`, an address of ours, without getting an entry: it probes, or the
  // cache is full.
  struct Requester {
    Mac mac;
    Ipv4 target;
    Ipv4 sender;  // 0.0.0.0 for a probe
  };
  // A host that begins to use several addresses probes them in one burst.
  static constexpr std::uint32_t askers_max = 16;
  static constexpr std::uint32_t addresses_max = 31;
  struct State {
    std::array<Requester, askers_max> askers;  // a ring
    std::uint32_t first_asker = 0;
    std::uint32_t asker_count = 0;
    std::uint32_t pending = 0;    // one bit per address of ours to announce
    Index own_timer = nil;        // of the next probe or announcement
    std::uint32_t announced = 0;  // number of announcements sent
    std::uint32_t probed = 0;     // number of probes of each address
    std::uint32_t tentative = 0;  // one bit per address, as in the next two
    std::uint32_t probes_pending = 0;
    std::uint32_t duplicates = 0;
    std::uint32_t unusable = 0;                      // tentative or duplicate
    std::array<Instant, addresses_max> defended_at;  // by address; zero: never
    AddressConflict conflict;
    Random random{0};
  };
  bool is_ours(Ipv4 address) const { return bit_of(address) != 0; }
  std::uint32_t our_v4() const;
  std::uint32_t bit_of(Ipv4 address) const;
  void set_own_timer(Instant at);
  void expire_own(Instant now);
  bool may_defend(std::uint32_t place, Instant now) const;
  Drop note_conflict(const wire::ArpPacket& packet, std::uint32_t ours, Instant now);
  wire::ArpPacket next_probe();
  void confirm(Index index, Mac mac, Instant now);
  void answer(Index index, Ipv4 asked);
  void announce(Instant now);
  void expire_entry(Index index, Instant now);
  void fail(Index index, Instant now);
  void forget(Index index, Instant now);
  void answer_without_entry(const wire::ArpPacket& packet);
  Drop receive_probe(const wire::ArpPacket& packet, Instant now);
  Drop receive_reply(const wire::ArpPacket& packet, Index known, Instant now);
  Drop receive_request(const wire::ArpPacket& packet, Index known, Instant now);

  NeighbourConfig config_;
  LinkIdentity identity_;
  memory::TimerOwner first_owner_{};
  memory::TimerWheel wheel_;
  State* state_ = nullptr;
  NeighbourTable<Neighbour> table_;
};

template <class Add>
void Neighbours::visit(Add&& add) const {
  table_.visit_entries([&](const Neighbour& entry, Index index) {
    add(entry.address.high);
    add(entry.address.low);
    add(entry.mac.number());
    add(static_cast<std::uint64_t>(entry.state));
    add(entry.confirmed.ns);
    add(std::uint64_t{entry.tries} << 8 | (entry.strange ? 16u : 0u) | (entry.active ? 8u : 0u) |
        (entry.used ? 4u : 0u) | (entry.request_pending ? 2u : 0u) |
        (entry.reply_pending ? 1u : 0u));
    add(entry.request_source.value);
    add(entry.reply_pending ? entry.reply_source.value : 0);
    add(table_.due(index).ns);
  });
  table_.visit_lists(add);
  add(state_->asker_count != 0 ? state_->askers[state_->first_asker].target.value : 0);
  add(std::uint64_t{state_->announced} << 32 | state_->pending |
      (state_->asker_count != 0 ? 1u << 31 : 0u));
  for (std::uint32_t i = 1; i < state_->asker_count; ++i) {
    add(state_->askers[(state_->first_asker + i) % askers_max].target.value);
  }
  add(state_->own_timer == nil ? 0 : wheel_.due(state_->own_timer).ns);
  if (config_.probes.value != 0) {
    add(std::uint64_t{state_->tentative} << 32 | state_->probes_pending);
    add(std::uint64_t{state_->probed} << 32 | state_->duplicates);
    add(state_->random.state());
  }
  if (state_->conflict.count != 0) {
    add(state_->conflict.count);
    add(state_->conflict.other.number());
    add(state_->conflict.at.ns);
    for (std::uint32_t i = 0; i < identity_.addresses.size(); ++i) {
      add(state_->defended_at[i].ns);
    }
  }
}

}  // namespace lockstep::link
