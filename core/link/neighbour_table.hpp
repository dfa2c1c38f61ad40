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
  Count entries_max{0};              // at least 1
  HashKey key;                       // an outsider must not know it
  memory::TimerOwner first_owner{};  // entry i's timer carries the owner `first_owner + i`
};

// Which lists an entry must be in, and whether its timer must run: for sound().
struct NeighbourPlace {
  bool ordered = false;
  bool to_write = false;
  bool timed = false;
};

// For whom a neighbour is asked for: for a host of the link that has not shown that it is one, as
// the sender of a SYN, or for a connection or a route of ours.
enum class Asker : std::uint8_t { stranger, ours };

// A handle on the arena. An Entry has `address`, a `state` that is `vacant`, `incomplete`, `failed`
// or `fixed` among others, `chain` and `timer` (indices), the links `order`, `transmit` and
// `change`, and the flags `active` (we have sent to it), `owes_request` and `strange` (while
// incomplete: only strangers want it). Every function costs O(1) but for hash chains.
//
// Who gives way to whom, so that no flood ends what is in use (RFC 6583 4 and 7):
// - Half of the entries at most are incomplete, a quarter for strangers alone. What is incomplete
//   gives way to nobody: somebody waits for it, and it is over after a few tries.
// - To an incomplete one give way, in turn, failed ones, those that only others have told of, and
//   those to which nothing was sent since they were confirmed; never one that is in use.
// - A quarter is kept free of those with a link address, where there are as many, so that there is
//   room for questions also where all others are in use. Who answers a question takes the place of
//   another one then, of one in use if it must.
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
  // Those that are incomplete, and those that did not answer.
  Order asked() const { return {lists_->asked, entries_.view()}; }
  Order failed() const { return {lists_->failed, entries_.view()}; }
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

  // A new entry, incomplete and wanted by us; nil if no slot is free.
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
  // An entry that is to be asked for: another one gives way if it must. nil if none does.
  Index add_question(IpAddress address, Asker asker) {
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
  // An entry of somebody who has told its link address: it gets its state from the caller, who has
  // it join its list. Only what others have told gives way to it. nil if nothing does.
  Index add_told(IpAddress address) {
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
  // We want it, whoever has asked for it before.
  void want(Index index) {
    if (entries_[index].strange) {
      entries_[index].strange = false;
      --lists_->strange;
    }
  }
  // Whoever was asked for has answered, and is about to leave its list: another one may give way.
  void make_room_for_answer() {
    if (known() >= known_max()) {
      static_cast<void>(evict(passive()) || evict_idle() || evict(active()));
    }
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

  // Before its state or `active` changes.
  void leave_order(Index index) {
    Order order = order_of(index);
    if (order.linked(index)) {
      order.remove(index);
      want(index);
    }
  }
  // Behind all others of its list. It must be in none.
  void join_order(Index index) { order_of(index).push_back(index); }

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
  void notify(Index index) {
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
    visit(asked());
    visit(failed());
    visit(transmit());
    visit(changes());
  }

  // Whether lists, table and timers agree, and each entry is where `place_of(const Entry&)` says.
  // For tests and checkers: O(entries).
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
    std::uint32_t strange = 0;  // of those asked for, how many have the flag
  };

  // So many of those that are in use are stepped over for one that is not.
  static constexpr std::uint32_t steps_max = 16;

  // The list in which an entry is, or belongs; fixed ones are in none.
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
  // How many may have a link address that was not given by configuration.
  std::uint32_t known_max() const {
    std::uint32_t const fixed = used() - known() - asked().count() - failed().count();
    std::uint32_t const kept = fixed + entries_.capacity() / 4;
    return entries_.capacity() > kept ? entries_.capacity() - kept : 1;
  }

  Index& bucket_of(IpAddress address) const {
    std::uint64_t const hash = TableHash(config_.key).add(address.high).add(address.low).finish();
    return buckets_[static_cast<Index>(hash & (buckets_.count() - 1))];
  }

  // The first entry of the list that nobody is still to be told of gives way; false if none is.
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
  // The same for those that we have sent to, and not since they were confirmed. Those that are in
  // use go behind the others, so that a flood does not have to step over them each time.
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
