// The base of both neighbour caches: a table by address, and the lists of its entries.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "core/memory/arena.hpp"
#include "core/memory/list.hpp"
#include "core/memory/slots.hpp"
#include "core/memory/timer_wheel.hpp"
#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/check.hpp"
#include "core/units/hash.hpp"
#include "core/units/time.hpp"

namespace lockstep::link {

using memory::Index;
using memory::nil;

// Whether a host can have this link address.
constexpr bool is_host(Mac mac) { return !mac.is_group() && mac != Mac{}; }

struct NeighbourTableConfig {
  Count entries_max{0};              // at least 1
  HashKey key;                       // secret from attackers
  memory::TimerOwner first_owner{};  // the owner of entry i's timer is `first_owner + i`
};

// Which lists an entry must be in, and whether its timer must run: for sound().
struct NeighbourPlace {
  bool ordered = false;
  bool to_write = false;
  bool timed = false;
};

// On whose behalf a neighbour is resolved: for a host that has not proved to be on the link, such
// as the sender of a SYN, or for a connection or route of ours.
enum class Asker : std::uint8_t { stranger, ours };

// A handle on the arena. An Entry has `address`, a `state` that is `vacant`, `incomplete`, `failed`
// or `fixed` among others, `chain` and `timer` (indices), the links `order`, `transmit` and
// `change`, and the flags `active` (we have sent to it), `request_pending` and `strange` (while
// incomplete: only needed for strangers). Every function is O(1) apart from hash chains.
//
// Eviction, so that no flood removes entries in use (RFC 6583 4 and 7):
// - At most half of the entries are incomplete, and a quarter for strangers only. An incomplete
//   entry is never evicted: something waits for it, and it ends after a few tries.
// - A new incomplete entry evicts, in this order, failed entries, entries learned only from others'
//   messages, and entries to which nothing was sent since they were confirmed; never one in use.
// - If possible a quarter of the table is kept free of entries with a link address, so that new
//   addresses can be resolved even if all others are in use. An answer then evicts another entry,
//   if necessary one in use.
template <class Entry>
class NeighbourTable {
 public:
  using State = decltype(Entry::state);
  using Order = memory::List<Entry, &Entry::order>;
  using Transmit = memory::List<Entry, &Entry::transmit>;
  using Changes = memory::List<Entry, &Entry::change>;

  NeighbourTable() = default;

  // Allocates the table in `layout`; call start() before the first use.
  static NeighbourTable lay_out(memory::Layout& layout, const NeighbourTableConfig& config,
                                const memory::TimerWheel& wheel) {
    CHECK(config.entries_max.value != 0);
    NeighbourTable table;
    table.config_ = config;
    table.lists_ = layout.place<Lists>(Count{1}).data();
    table.buckets_ = layout.place<Index>(Count{std::bit_ceil(config.entries_max.value)});
    table.entries_ = memory::Slots<Entry>::lay_out(layout, config.entries_max);
    table.wheel_ = wheel;
    return table;
  }
  // Empties the table; the wheel must have been started before.
  void start() {
    *lists_ = Lists{};
    entries_.start();
    std::ranges::fill(buckets_.all(), nil);
  }

  Entry& operator[](Index index) const { return entries_[index]; }
  bool taken(Index index) const { return entries_.taken(index); }
  std::uint32_t used() const { return entries_.used(); }
  std::uint32_t capacity() const { return entries_.capacity(); }

  // Oldest first: entries learned only from others' messages, and entries that we have sent to.
  Order passive() const { return {lists_->passive, entries_.view()}; }
  Order active() const { return {lists_->active, entries_.view()}; }
  // Incomplete entries, and failed ones.
  Order asked() const { return {lists_->asked, entries_.view()}; }
  Order failed() const { return {lists_->failed, entries_.view()}; }
  // Entries for which something is to be written.
  Transmit transmit() const { return {lists_->transmit, entries_.view()}; }
  // Entries whose result was not reported yet.
  Changes changes() const { return {lists_->changes, entries_.view()}; }
  bool wants_transmit() const { return lists_->transmit.count != 0; }
  bool has_changes() const { return lists_->changes.count != 0; }

  // The entry of an address; nil if there is none.
  Index find(IpAddress address) const {
    Index index = bucket_of(address);
    while (index != nil && entries_[index].address != address) {
      index = entries_[index].chain;
    }
    return index;
  }
  // The same, fast for the last remembered entry: most frames go to it.
  Index find_recent(IpAddress address) const {
    Index const index = lists_->recent;
    return index != nil && entries_[index].address == address ? index : find(address);
  }
  void remember(Index index) { lists_->recent = index; }

  // A new incomplete entry, needed by us; nil if no slot is free.
  Index add(IpAddress address) {
    Index const index = entries_.take();
    if (index == nil) {
      return nil;
    }
    Index const timer = entries_[index].timer;
    entries_[index] = Entry{};
    Entry& entry = entries_[index];
    entry.timer = timer != nil ? timer : wheel_.open({config_.first_owner.value + index});
    CHECK(entry.timer != nil);
    entry.address = address;
    entry.state = State::incomplete;
    Index& bucket = bucket_of(address);
    entry.chain = bucket;
    bucket = index;
    join_order(index);
    return index;
  }
  // A new incomplete entry; evicts another one if necessary. nil if none can be evicted.
  Index add_incomplete(IpAddress address, Asker asker) {
    bool const strange = asker == Asker::stranger;
    if (asked().count() >= part_of_all(2) || (strange && lists_->strange >= part_of_all(4))) {
      return nil;
    }
    Index index = add(address);
    if (index == nil && (evict(failed()) || evict(passive()) || evict_idle())) {
      index = add(address);
    }
    if (index != nil && strange) {
      entries_[index].strange = true;
      ++lists_->strange;
    }
    return index;
  }
  // A new entry for a host that sent its link address; the caller sets its state and then calls
  // join_order(). Evicts only entries learned the same way. nil if there is none.
  Index add_learned(IpAddress address) {
    bool const crowded = known() >= known_max();
    if (crowded && !evict(passive())) {
      return nil;
    }
    Index index = add(address);
    if (index == nil && (evict(failed()) || evict(passive()))) {
      index = add(address);
    }
    if (index != nil) {
      leave_order(index);
    }
    return index;
  }
  // We need the entry, whatever it was created for.
  void want(Index index) {
    if (entries_[index].strange) {
      entries_[index].strange = false;
      --lists_->strange;
    }
  }
  // An answer arrived for an entry that is about to leave its list: may evict another one.
  void make_room_for_answer() {
    if (known() >= known_max()) {
      static_cast<void>(evict(passive()) || evict_idle() || evict(active()));
    }
  }

  // Removes an entry, whose result must have been reported.
  void remove(Index index) {
    Entry& entry = entries_[index];
    CHECK(!changes().linked(index));
    Index* at = &bucket_of(entry.address);
    while (*at != index) {
      CHECK(*at != nil);
      at = &entries_[*at].chain;
    }
    *at = entry.chain;
    leave_order(index);
    if (transmit().linked(index)) {
      transmit().remove(index);
    }
    wheel_.cancel(entry.timer);
    entry.state = State::vacant;
    lists_->recent = lists_->recent == index ? nil : lists_->recent;
    entries_.give(index);
  }

  // Call it before the state or `active` changes.
  void leave_order(Index index) {
    Order order = order_of(index);
    if (order.linked(index)) {
      order.remove(index);
      want(index);
    }
  }
  // Appends the entry to its list. It must not be in one.
  void join_order(Index index) { order_of(index).push_back(index); }

  // Something is to be written for it; ask(): a request.
  void write(Index index) {
    if (!transmit().linked(index)) {
      transmit().push_back(index);
    }
  }
  void ask(Index index) {
    entries_[index].request_pending = true;
    write(index);
  }
  // Those that wait for it are to be notified.
  void notify(Index index) {
    if (!changes().linked(index)) {
      changes().push_back(index);
    }
  }

  void set_timer(Index index, Instant due) { wheel_.set(entries_[index].timer, due); }
  void cancel_timer(Index index) { wheel_.cancel(entries_[index].timer); }
  Instant due(Index index) const { return wheel_.due(entries_[index].timer); }

  // Passes every entry to `each(const Entry&, Index)`, in slot order.
  template <class Each>
  void visit_entries(Each&& each) const {
    for (Index i = 0; i < entries_.high_water(); ++i) {
      if (entries_.taken(i)) {
        each(std::as_const(entries_[i]), i);
      }
    }
  }
  // Passes the contents of the lists, list by list, to `add(std::uint64_t)`.
  template <class Add>
  void visit_lists(Add&& add) const {
    auto const visit = [&](auto const& list) {
      for (Index i = list.first(); i != nil; i = list.next(i)) {
        add(i);
      }
    };
    visit(passive());
    visit(active());
    visit(asked());
    visit(failed());
    visit(transmit());
    visit(changes());
  }

  // Whether lists, table and timers are consistent, and each entry is where `place_of(const
  // Entry&)` requires. For tests and checks: O(entries).
  template <class PlaceOf>
  bool sound(PlaceOf&& place_of) const {
    if (!passive().sound() || !active().sound() || !asked().sound() || !failed().sound() ||
        !transmit().sound() || !changes().sound()) {
      return false;
    }
    std::uint32_t chained = 0;
    std::uint32_t strange = 0;
    for (Index index : buckets_.all()) {
      for (; index != nil && chained <= capacity(); index = entries_[index].chain) {
        NeighbourPlace const place = place_of(std::as_const(entries_[index]));
        if (!entries_.taken(index) || find(entries_[index].address) != index ||
            passive().linked(index) != place.ordered ||
            transmit().linked(index) != place.to_write ||
            wheel_.is_set(entries_[index].timer) != place.timed) {
          return false;
        }
        ++chained;
        strange += entries_[index].strange ? 1u : 0u;
      }
    }
    return chained == entries_.used() && strange == lists_->strange;
  }

 private:
  struct Lists {
    memory::ListHead passive;
    memory::ListHead active;
    memory::ListHead asked;
    memory::ListHead failed;
    memory::ListHead transmit;
    memory::ListHead changes;
    Index recent = nil;
    std::uint32_t strange = 0;  // of the incomplete ones, how many have the flag
  };

  // At most this many entries in use are skipped to find one that is not.
  static constexpr std::uint32_t steps_max = 16;

  // The list of an entry; fixed ones are in none.
  Order order_of(Index index) const {
    Entry const& entry = entries_[index];
    if (entry.state == State::incomplete) {
      return asked();
    }
    if (entry.state == State::failed) {
      return failed();
    }
    return entry.active ? active() : passive();
  }
  std::uint32_t part_of_all(std::uint32_t part) const {
    return std::max(1u, entries_.capacity() / part);
  }
  std::uint32_t known() const { return passive().count() + active().count(); }
  // How many entries may have a link address that was not configured.
  std::uint32_t known_max() const {
    std::uint32_t const fixed = used() - known() - asked().count() - failed().count();
    std::uint32_t const kept = fixed + entries_.capacity() / 4;
    return entries_.capacity() > kept ? entries_.capacity() - kept : 1;
  }

  Index& bucket_of(IpAddress address) const {
    std::uint64_t const hash = TableHash(config_.key).add(address.high).add(address.low).finish();
    return buckets_[static_cast<Index>(hash & (buckets_.count() - 1))];
  }

  // Evicts the first entry of the list whose result was reported; false if there is none.
  bool evict(Order order) {
    Index index = order.first();
    for (std::uint32_t i = 0; i < steps_max && index != nil; ++i, index = order.next(index)) {
      if (!changes().linked(index)) {
        remove(index);
        return true;
      }
    }
    return false;
  }
  // The same for entries that we have sent to but not since they were confirmed. Entries in use
  // move to the end, so that a flood does not have to skip them each time.
  bool evict_idle() {
    Order order = active();
    for (std::uint32_t i = std::min(steps_max, order.count()); i != 0; --i) {
      Index const index = order.first();
      if (!entries_[index].in_use() && !changes().linked(index)) {
        remove(index);
        return true;
      }
      order.remove(index);
      order.push_back(index);
    }
    return false;
  }

  NeighbourTableConfig config_;
  Lists* lists_ = nullptr;
  memory::View<Index> buckets_;
  memory::Slots<Entry> entries_;
  memory::TimerWheel wheel_;
};

}  // namespace lockstep::link
