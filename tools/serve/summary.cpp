// Only what is not zero is named, so that a drop stands out.
#include "tools/serve/summary.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "tools/output/json.hpp"
#include "tools/world/units.hpp"

namespace lockstep::tools {
namespace {

/// Calls visit(name, count) for every way in which a frame was lost, by the stack or the port.
template <class Visit>
void visit_losses(const ServeTotals& totals, Visit&& visit) {
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    visit(name_of(drop), totals.stack.drops.of(drop));
  }
  visit("port_too_long", totals.port.too_long);
  visit("port_too_short", totals.port.too_short);
  visit("port_segmented", totals.port.segmented);
  visit("port_missed", totals.port.missed);
  visit("port_link_down", totals.port.link_down);
  visit("port_no_buffers", totals.port.no_buffers);
  visit("port_refused", totals.port.refused);
  visit("shard_ring_full", totals.shard.lost);
}

/// The same of the ends of connections that are no answer.
template <class Visit>
void visit_ends(const http::ServerCounters& server, Visit&& visit) {
  for (std::uint32_t i = 0; i < cause_count; ++i) {
    visit(name_of(static_cast<Cause>(i)), server.ends[i]);
  }
  visit("idle", server.idle_ends);
  visit("request_too_slow", server.request_timeouts);
  visit("reader_too_slow", server.send_timeouts);
  visit("never_closed", server.linger_timeouts);
}

std::uint64_t losses(const ServeTotals& totals) {
  std::uint64_t sum = 0;
  visit_losses(totals, [&](std::string_view, std::uint64_t count) { sum += count; });
  return sum;
}

std::uint64_t a_second(std::uint64_t count, Duration lasted) {
  constexpr std::uint64_t second = 1'000'000'000;
  // Milliseconds keep the product within 64 bits for 2^54 things.
  std::uint64_t const ms = lasted.ns * 1000 / second;
  return ms == 0 ? 0 : count * 1000 / ms;
}

void add_named(std::string& text, std::string_view name, std::uint64_t count) {
  if (count != 0) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), name);
  }
}

}  // namespace

// Everything that is counted is an unsigned 64-bit number, so that structures are added by words.
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

void add(ServeTotals& sum, const ServeTotals& each) {
  sum.lasted = std::max(sum.lasted, each.lasted);
  add_words(sum.stack, each.stack);
  add_words(sum.server, each.server);
  add_words(sum.port, each.port);
  add_words(sum.loop, each.loop);
  add_words(sum.shard, each.shard);
  sum.journal_bytes += each.journal_bytes;
  sum.open += each.open;
}

std::string shard_text(ShardId shard, const ServeTotals& totals) {
  return fmt::format("{:<17}{} connections, {} requests, {} frames in, {} out, {} forwarded, "
                     "{} from others\n",
                     fmt::format("shard {}", shard.value), grouped(totals.server.connections),
                     grouped(totals.server.requests), grouped(totals.port.frames_in),
                     grouped(totals.port.frames_out), grouped(totals.shard.forwarded),
                     grouped(totals.shard.given));
}

std::string with_shards(const std::string& summary, const std::vector<ServeTotals>& shards) {
  auto out = nlohmann::ordered_json::parse(summary);
  auto& list = out["shards"] = nlohmann::ordered_json::array();
  for (const ServeTotals& each : shards) {
    list.push_back({{"connections", each.server.connections},
                    {"requests", each.server.requests},
                    {"frames_in", each.port.frames_in},
                    {"frames_out", each.port.frames_out},
                    {"forwarded", each.shard.forwarded},
                    {"announced", each.shard.announced},
                    {"given", each.shard.given},
                    {"ring_full", each.shard.lost},
                    {"turns", each.loop.turns},
                    {"sleeps", each.loop.slept},
                    {"journal_octets", each.journal_bytes}});
  }
  return json_text(out);
}

std::string live_line(const ServeTotals& before, const ServeTotals& now) {
  Duration const lasted = now.lasted - before.lasted;
  auto const rate = [&](std::uint64_t then, std::uint64_t later) {
    return a_second(later - then, lasted);
  };
  return fmt::format(
      "{} s: {} open, {} connections/s, {} requests/s, {}, {} retransmissions, {} lost",
      now.lasted.ns / 1'000'000'000, grouped(now.open),
      grouped(rate(before.server.connections, now.server.connections)),
      grouped(rate(before.server.requests, now.server.requests)),
      rate_text(8 * rate(before.stack.tcp.bytes_sent, now.stack.tcp.bytes_sent)),
      grouped(now.stack.tcp.retransmissions - before.stack.tcp.retransmissions),
      grouped(losses(now) - losses(before)));
}

std::string summary_text(const ServeTotals& totals) {
  std::string answers;
  for (std::uint32_t i = 0; i < http::statuses.size(); ++i) {
    auto const line = http::statuses[i].line;
    add_named(answers, line.substr(0, line.size() - 1), totals.server.answers[i]);
  }
  std::string ends;
  visit_ends(totals.server, [&](std::string_view name, std::uint64_t count) {
    add_named(ends, name, count);
  });
  std::string lost;
  visit_losses(totals, [&](std::string_view name, std::uint64_t count) {
    add_named(lost, name, count);
  });
  tcp::Counters const& tcp = totals.stack.tcp;
  std::string out = fmt::format("served for {}\n", text_of(totals.lasted));
  out += fmt::format("connections      {}{}\n", grouped(totals.server.connections),
                     ends.empty() ? "" : ": " + ends);
  out += fmt::format("requests         {}{}\n", grouped(totals.server.requests),
                     answers.empty() ? "" : ": " + answers);
  out += fmt::format("octets           {} of text sent, {} received\n", grouped(tcp.bytes_sent),
                     grouped(tcp.bytes_delivered));
  out += fmt::format("frames           {} in, {} out, {} waited for room\n",
                     grouped(totals.port.frames_in), grouped(totals.port.frames_out),
                     grouped(totals.port.blocked));
  out += fmt::format("retransmissions  {}, of them {} fast; {} timeouts\n",
                     grouped(tcp.retransmissions), grouped(tcp.fast_retransmits),
                     grouped(tcp.timeouts));
  out += fmt::format("lost             {}\n", lost.empty() ? "nothing" : lost);
  if (totals.journal_bytes != 0) {
    out += fmt::format("journal          {} octets\n", grouped(totals.journal_bytes));
  }
  return out;
}

std::string summary_json(const ServeTotals& totals, hw::Ending ending) {
  nlohmann::ordered_json out;
  out["lasted_ns"] = totals.lasted.ns;
  out["ending"] = ending == hw::Ending::stopped     ? "stopped"
                  : ending == hw::Ending::abandoned ? "abandoned"
                                                    : "gone";
  out["connections"] = totals.server.connections;
  out["requests"] = totals.server.requests;
  out["body_octets"] = totals.server.body_octets;
  out["upload_octets"] = totals.server.upload_octets;
  out["octets_sent"] = totals.stack.tcp.bytes_sent;
  out["octets_received"] = totals.stack.tcp.bytes_delivered;
  out["frames_in"] = totals.port.frames_in;
  out["frames_out"] = totals.port.frames_out;
  out["frames_blocked"] = totals.port.blocked;
  out["checksums_left_out"] = totals.port.left_out;
  out["retransmissions"] = totals.stack.tcp.retransmissions;
  out["fast_retransmits"] = totals.stack.tcp.fast_retransmits;
  out["timeouts"] = totals.stack.tcp.timeouts;
  out["turns"] = totals.loop.turns;
  out["turns_worked"] = totals.loop.worked;
  out["sleeps"] = totals.loop.slept;
  out["journal_octets"] = totals.journal_bytes;
  auto& answers = out["answers"] = nlohmann::ordered_json::object();
  for (std::uint32_t i = 0; i < http::statuses.size(); ++i) {
    answers[std::to_string(static_cast<int>(http::statuses[i].status))] =
        totals.server.answers[i];
  }
  auto& ends = out["ends"] = nlohmann::ordered_json::object();
  visit_ends(totals.server, [&](std::string_view name, std::uint64_t count) {
    ends[std::string(name)] = count;
  });
  auto& lost = out["lost"] = nlohmann::ordered_json::object();
  visit_losses(totals, [&](std::string_view name, std::uint64_t count) {
    lost[std::string(name)] = count;
  });
  return json_text(out);
}

}  // namespace lockstep::tools
