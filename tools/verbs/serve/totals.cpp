// Sums over shards, and lists of the counters that are not zero.
#include "tools/verbs/serve/totals.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "tools/base/text/units.hpp"

namespace lockstep::tools {

void add(ShardTotals& sum, const ShardTotals& each) {
  sum.lasted = std::max(sum.lasted, each.lasted);
  add_words(sum.stack, each.stack);
  add_words(sum.port, each.port);
  add_words(sum.loop, each.loop);
  add_words(sum.shard, each.shard);
  sum.journal_bytes += each.journal_bytes;
  sum.time_wait += each.time_wait;
  sum.half_open += each.half_open;
  sum.processor = sum.processor + each.processor;
}

std::string losses_text(const ShardTotals& before, const ShardTotals& now) {
  std::string out;
  visit_losses(before, now, [&](std::string_view name, std::uint64_t count) {
    if (count != 0) {
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", grouped(count), name);
    }
  });
  return out;
}

std::uint64_t a_second(std::uint64_t count, Duration time) {
  constexpr std::uint64_t million = 1'000'000;
  // Microseconds keep the product within 64 bits for counts up to 2^44.
  std::uint64_t const us = time.ns / 1'000;
  return us == 0 ? 0 : count * million / us;
}

}  // namespace lockstep::tools
