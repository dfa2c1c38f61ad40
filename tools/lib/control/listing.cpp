// The state of a place says which thread owns its portion.
#include "tools/lib/control/listing.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/units/check.hpp"

namespace lockstep::control {
namespace {

hw::Descriptor new_event() { return hw::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void signal_event(const hw::Descriptor& event) {
  std::uint64_t const one = 1;
  static_cast<void>(!write(event.number(), &one, sizeof one));
}

void clear_event(const hw::Descriptor& event) {
  std::uint64_t waiting = 0;
  static_cast<void>(!read(event.number(), &waiting, sizeof waiting));
}

}  // namespace

hw::Trouble Listing::open(ShardCount shards) {
  news_ = new_event();
  bool failed = !news_.is_open();
  for (std::uint32_t i = 0; i < shards.value && !failed; ++i) {
    places_.push_back(std::make_unique<Place>());
    places_.back()->event = new_event();
    failed = !places_.back()->event.is_open();
  }
  if (!failed) {
    return {};
  }
  return {hw::TroubleKind::environment,
          std::string("eventfd: ") + std::strerror(errno) + ": raise the limit of open files"};
}

void Listing::ask(ShardId shard, std::uint32_t from) {
  Place& place = *places_[shard.value];
  CHECK(place.state.load(std::memory_order_acquire) != State::asked);
  place.portion.next = from;
  // In this order: a shard that is awake may answer, and clear the event, at once.
  signal_event(place.event);
  place.state.store(State::asked, std::memory_order_release);
}

const Portion* Listing::answer(ShardId shard) const {
  const Place& place = *places_[shard.value];
  bool const is_there = place.state.load(std::memory_order_acquire) == State::answered;
  return is_there ? &place.portion : nullptr;
}

void Listing::take_news() const { clear_event(news_); }

void Listing::give(ShardId shard, const Stack& stack) {
  Place& place = *places_[shard.value];
  Portion& portion = place.portion;
  std::uint32_t const all = stack.records().value;
  portion.count = 0;
  portion.now = stack.now();
  std::uint32_t const end = portion.next + portion_records;
  for (; portion.next < end && portion.next < all; ++portion.next) {
    ConnectionInfo& record = portion.records[portion.count];
    record = stack.inspect_record({portion.next});
    portion.count += record.exists ? 1 : 0;
  }
  portion.last = portion.next >= all;
  clear_event(place.event);
  place.state.store(State::answered, std::memory_order_release);
  signal_event(news_);
}

}  // namespace lockstep::control
