// Neighbours of the link: which link address belongs to which IP address, asked for by ARP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/link/neighbour_table.hpp"
#include "core/units/drop.hpp"
#include "core/wire/arp.hpp"

namespace lockstep::link {

struct NeighbourConfig {
  Count entries_max{256};                           // static ones included; at least 1
  Duration reachable_time = Duration::seconds(60);  // how long an answer is believed
  Duration retry_interval = Duration::seconds(1);   // between two requests for one address
  Count tries_max{3};                               // requests without an answer; at least 1
  Count announcements{0};                           // of our addresses at the start
  HashKey key;                                      // of the table; an outsider must not know it
};

// Who we are on this link. The addresses outlive the cache.
struct LinkIdentity {
  Mac mac;
  std::span<const IpAddress> addresses;
  std::uint16_t vlan = 0;  // of all frames; 0: no tag
};

// vacant:     the slot belongs to nobody
// incomplete: no link address yet; requests are going out, connections may wait
// reachable:  the link address is known and was confirmed within the reachable time
// probing:    the link address is known but old: it is used while requests go out to confirm it
// failed:     nobody answered; for one retry interval the next hop counts as unreachable, unless an
//             answer comes after all
// fixed:      given by configuration: never asked for, never changed, never expires
enum class NeighbourState : std::uint8_t { vacant, incomplete, reachable, probing, failed, fixed };

// One neighbour. Which lists it is in follows from `state` and the flags.
struct Neighbour {
  IpAddress address;
  Index chain = nil;      // the next of its hash bucket
  Index timer = nil;      // of the shared wheel, its own for good once it was taken
  Instant confirmed;      // the last time
  memory::Link order;     // in a list by its state, but fixed ones
  memory::Link transmit;  // an ARP packet is to be written for it
  memory::Link change;    // it was resolved or failed, and nobody was told yet
  Ipv4 request_source;    // which of our addresses asks
  Ipv4 reply_source;      // which of our addresses it asked for
  Mac mac;
  NeighbourState state = NeighbourState::vacant;
  std::uint8_t tries = 0;  // requests since the last answer
  bool used = false;       // we have sent to it since it was last confirmed
  bool active = false;     // we have sent to it
  bool strange = false;    // only strangers have it asked for
  bool owes_request = false;
  bool owes_reply = false;

  bool in_use() const { return used; }
};

// What resolve() says of a next hop.
enum class LookupKind : std::uint8_t {
  resolved,     // `mac` is its link address
  waiting,      // a request is on its way: next_change() will name `neighbour`
  unreachable,  // it did not answer of late, or the cache has no room: try later
};

struct Lookup {
  LookupKind kind = LookupKind::unreachable;
  Index neighbour = nil;  // below entries_max; nil only when the cache has no room
  Mac mac;
};

// A next hop, and the address of ours from which we send to it.
struct Hop {
  IpAddress next_hop;
  IpAddress source;
  Asker asker = Asker::ours;
};

// A neighbour was resolved, or did not answer: those that wait for it can go on, or learn it.
struct NeighbourChange {
  Index neighbour = nil;
  bool resolved = false;
};

// The cache. A handle on the arena, held outside of it. Nothing is sent: what is to be sent is
// state, and written when asked for. Every function costs O(1) but for hash chains.
class Neighbours {
 public:
  Neighbours() = default;

  // How many timers of the wheel the cache opens at most.
  static Count timers_max(const NeighbourConfig& config) {
    return Count{config.entries_max.value + 1};
  }

  // Takes the cache's place in `layout`; call start() before the first use. The timers of entry i
  // carry the owner `first_owner.value + i`.
  static Neighbours lay_out(memory::Layout& layout, const NeighbourConfig& config,
                            const memory::TimerWheel& wheel, memory::TimerOwner first_owner);
  // Says who we are. Once, before anything else but lay_out, after a restore too.
  void identify(const LinkIdentity& identity) { identity_ = identity; }
  // Empties the cache; the wheel must have been started before.
  void start();
  // The world has told the time for the first time: our addresses are announced.
  void begin(Instant now) { announce(now); }

  // Adds an entry that never expires, or changes one; false if the cache has no room or the
  // addresses are no host's. Before the first frame only.
  [[nodiscard]] bool add_static(IpAddress address, Mac mac);

  // The link address of a next hop on this link, which must be a unicast IPv4 address of somebody
  // else; `source` is one of our addresses. Begins to ask if it is not known.
  Lookup resolve(const Hop& hop);
  // What is known without asking; nil, vacant if nothing is.
  Index find(IpAddress address) const { return table_.find(address); }
  const Neighbour& entry(Index index) const { return table_[index]; }

  // Transport's negative advice: nothing comes back from there (RFC 1122 3.3.1.4). A believed
  // answer is put to the test at once, unless it is younger than all tries take: so whoever lets
  // segments of ours go unanswered has us ask no more often than that. An address that is not
  // known is ignored.
  void doubt(IpAddress next_hop, Instant now);

  // Takes in an ARP packet (RFC 826). Drop::none, arp_unsolicited, arp_not_for_us, arp_bad_sender,
  // arp_static_conflict or arp_cache_full.
  Drop receive(const wire::ArpPacket& packet, Instant now);

  // The timer with the owner `first_owner + index` has fired.
  void expire(Index index, Instant now);

  // An ARP packet can be written. It is lost if a claimed frame is not sent: as on the wire.
  bool wants_transmit() const { return table_.wants_transmit() || state_->owed != 0; }
  // Writes one ARP packet with its Ethernet header to the front of `into`, which holds 46 octets,
  // and gives their number; none if nothing is to be sent.
  Bytes write_next(Instant now, std::span<std::byte> into);

  // The next neighbour that was resolved or failed since it was asked for, in order of occurrence.
  bool next_change(NeighbourChange& out);
  bool has_changes() const { return table_.has_changes(); }

  std::uint32_t used() const { return table_.used(); }
  std::uint32_t capacity() const { return table_.capacity(); }

  // Hands every stored value of meaning to `add(std::uint64_t)`, in a fixed order.
  template <class Add>
  void visit(Add&& add) const;
  // Whether lists, table and timers agree. For tests and checkers: O(entries).
  bool sound() const;

 private:
  struct State {
    Mac probe_mac;      // who asks for `probe_target`, an address of ours, and gets no entry: it
    Ipv4 probe_target;  // probes, or the cache is full
    Ipv4 probe_sender;  // 0.0.0.0 if it probes
    std::uint32_t owed = 0;  // one bit an address of ours to announce, and owes_probe_reply
    Index announce_timer = nil;
    std::uint32_t announced = 0;  // how often
  };
  static constexpr std::uint32_t owes_probe_reply = 1u << 31;

  bool is_ours(Ipv4 address) const;
  void confirm(Index index, Mac mac, Instant now);
  void answer(Index index, Ipv4 asked);
  void announce(Instant now);
  void expire_entry(Index index, Instant now);
  void fail(Index index, Instant now);
  void forget(Index index, Instant now);
  void answer_without_entry(const wire::ArpPacket& packet);
  Drop receive_probe(const wire::ArpPacket& packet);
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
        (entry.used ? 4u : 0u) | (entry.owes_request ? 2u : 0u) | (entry.owes_reply ? 1u : 0u));
    add(entry.request_source.value);
    add(entry.owes_reply ? entry.reply_source.value : 0);
    add(table_.due(index).ns);
  });
  table_.visit_lists(add);
  add((state_->owed & owes_probe_reply) != 0 ? state_->probe_target.value : 0);
  add(std::uint64_t{state_->announced} << 32 | state_->owed);
  add(state_->announce_timer == nil ? 0 : wheel_.due(state_->announce_timer).ns);
}

}  // namespace lockstep::link
