// The counters that every shard has, whatever role it runs.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/stack/statistics.hpp"
#include "core/units/time.hpp"
#include "hw/poll/loop.hpp"
#include "hw/port_counters.hpp"
#include "hw/shards/port.hpp"

namespace lockstep::tools {

/// All counters of one shard, or of all, at one moment.
struct ShardTotals {
  Duration lasted;
  Statistics stack;
  hw::PortCounters port;
  hw::LoopCounters loop;
  hw::ShardCounters shard;  ///< frames between shards
  std::uint64_t journal_bytes = 0;
  std::uint64_t time_wait = 0;
  std::uint64_t half_open = 0;  ///< in the SYN cache
  Duration processor;           ///< processor time of the shard's thread
};

/// Counters are unsigned 64-bit numbers throughout, so structures are added word by word.
template <class Counters>
void add_words(Counters& sum, const Counters& each) {
  static_assert(std::is_trivially_copyable_v<Counters> && sizeof(Counters) % 8 == 0);
  using Words = std::array<std::uint64_t, sizeof(Counters) / 8>;
  auto left = std::bit_cast<Words>(sum);
  auto const right = std::bit_cast<Words>(each);
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] += right[i];
  }
  sum = std::bit_cast<Counters>(left);
}

/// Adds another shard's counters. `lasted` is the longest.
void add(ShardTotals& sum, const ShardTotals& each);

/// Calls visit(name, count) for every kind of loss since `before`, in the stack or the port.
template <class Visit>
void visit_losses(const ShardTotals& before, const ShardTotals& now, Visit&& visit) {
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    visit(name_of(drop), now.stack.drops.of(drop) - before.stack.drops.of(drop));
  }
  visit("port_too_long", now.port.too_long - before.port.too_long);
  visit("port_too_short", now.port.too_short - before.port.too_short);
  visit("port_malformed", now.port.malformed - before.port.malformed);
  visit("port_segmented", now.port.segmented - before.port.segmented);
  visit("port_missed", now.port.missed - before.port.missed);
  visit("port_link_down", now.port.link_down - before.port.link_down);
  visit("port_no_buffers", now.port.no_buffers - before.port.no_buffers);
  visit("port_refused", now.port.refused - before.port.refused);
  visit("shard_ring_full", now.shard.lost - before.shard.lost);
}

/// "3 tcp_checksum, 1 port_missed": the losses since `before`, by reason; may be empty.
std::string losses_text(const ShardTotals& before, const ShardTotals& now);
/// Events per second over that time; 0 if the time is zero.
std::uint64_t a_second(std::uint64_t count, Duration time);

}  // namespace lockstep::tools
