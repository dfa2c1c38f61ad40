// What both caches of neighbours are made of: a table by address, and the lists of its entries.
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

// A link address that a host can have.
constexpr bool is_host(Mac mac) { return !mac.is_group() && mac != Mac{}; }

struct NeighbourTableConfig {
  Count entries_max{0};             // at least 1
  HashKey key;                      // an outsider must not know it
  memory::TimerOwner first_owner{};  // entry i's timer carries the owner `first_owner + i`
};

// Which lists an entry must be in, and whether its timer must run: for sound().
struct NeighbourPlace {
  bool ordered = false;
  bool to_write = false;
  bool timed = false;
};

// A handle on the arena. An Entry has `address`, a `state` that is `vacant` or `incomplete` among
// others, `chain` and `timer` (indices), the links `order`, `transmit` and `change`, and the flags
// `active` (its `order` is in active(): we have sent to it) and `owes_request`. Every function
// costs O(1) but for hash chains and what evict() steps over.
template <class Entry>
class NeighbourTable {
 public:
  using State = decltype(Entry::state);
  using Order = memory::List<Entry, &Entry::order>;
  using Transmit = memory::List<Entry, &Entry::transmit>;
  using Changes = memory::List<Entry, &Entry::change>;

  NeighbourTable() = default;

  // Takes the table's place in `layout`; call start() before the first use.
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

  // Oldest first: those that others have told of and that we never sent to, and those that we have.
  Order passive() const { return {lists_->passive, entries_.view()}; }
  Order active() const { return {lists_->active, entries_.view()}; }
  // Something is to be written for these.
  Transmit transmit() const { return {lists_->transmit, entries_.view()}; }
  // These were decided, and nobody was told yet.
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
  // The same, and quick for the last one that was remembered: most frames go there.
  Index find_recent(IpAddress address) const {
    Index const index = lists_->recent;
    return index != nil && entries_[index].address == address ? index : find(address);
  }
  void remember(Index index) { lists_->recent = index; }

  // A new entry, in state incomplete and in no list; nil if no slot is free.
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
    return index;
  }
  // The same, but another entry gives way if it must. `for_us`: we want to send there.
  Index add_in_any_case(IpAddress address, bool for_us) {
    Index const index = add(address);
    return index == nil && evict(for_us) ? add(address) : index;
  }

  // Nobody may wait to be told of it.
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

  void leave_order(Index index) {
    if (passive().linked(index)) {
      (entries_[index].active ? active() : passive()).remove(index);
    }
  }
  // Behind all others of its list. It must be in none.
  void join_order(Index index) {
    (entries_[index].active ? active() : passive()).push_back(index);
  }

  // Something is to be written for it; for ask(), a request.
  void write(Index index) {
    if (!transmit().linked(index)) {
      transmit().push_back(index);
    }
  }
  void ask(Index index) {
    entries_[index].owes_request = true;
    write(index);
  }
  // Those that wait for it are to be told.
  void tell(Index index) {
    if (!changes().linked(index)) {
      changes().push_back(index);
    }
  }

  void set_timer(Index index, Instant due) { wheel_.set(entries_[index].timer, due); }
  void cancel_timer(Index index) { wheel_.cancel(entries_[index].timer); }
  Instant due(Index index) const { return wheel_.due(entries_[index].timer); }

  // Hands every entry to `each(const Entry&, Index)`, in the order of the slots.
  template <class Each>
  void visit_entries(Each&& each) const {
    for (Index i = 0; i < entries_.high_water(); ++i) {
      if (entries_.taken(i)) {
        each(std::as_const(entries_[i]), i);
      }
    }
  }
  // Hands what is in the lists, list by list, to `add(std::uint64_t)`.
  template <class Add>
  void visit_lists(Add&& add) const {
    auto const visit = [&](auto const& list) {
      for (Index i = list.first(); i != nil; i = list.next(i)) {
        add(i);
      }
    };
    visit(passive());
    visit(active());
    visit(transmit());
    visit(changes());
  }

  // Whether lists, table and timers agree, and each entry is where `place_of(const Entry&)` says.
  // For tests and checkers: O(entries).
  template <class PlaceOf>
  bool sound(PlaceOf&& place_of) const {
    if (!passive().sound() || !active().sound() || !transmit().sound() || !changes().sound()) {
      return false;
    }
    std::uint32_t chained = 0;
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
      }
    }
    return chained == entries_.used();
  }

 private:
  struct Lists {
    memory::ListHead passive;
    memory::ListHead active;
    memory::ListHead transmit;
    memory::ListHead changes;
    Index recent = nil;
  };

  Index& bucket_of(IpAddress address) const {
    std::uint64_t const hash = TableHash(config_.key).add(address.high).add(address.low).finish();
    return buckets_[static_cast<Index>(hash & (buckets_.count() - 1))];
  }

  // Makes room. What others have told of themselves gives way first, so that a flood of them cannot
  // push out whom we talk to; what somebody waits for never does.
  bool evict(bool for_us) {
    for (Order const order : {passive(), active()}) {
      for (Index index = order.first(); index != nil; index = order.next(index)) {
        if (!changes().linked(index)) {
          remove(index);
          return true;
        }
      }
      if (!for_us) {
        return false;
      }
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
