// The summary of a run. Only counters that are not zero are listed, so that drops stand out.
#include "tools/verbs/serve/summary.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/base/output/json.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

/// Calls visit(name, count) for each kind of ending of a connection that is an error.
template <class Visit>
void visit_ends(const http::ServerCounters& server, Visit&& visit) {
  for (std::uint32_t i = 0; i < cause_count; ++i) {
    visit(name_of(static_cast<Cause>(i)), server.ends[i]);
  }
  visit("idle", server.idle_ends);
  visit("request_too_slow", server.request_timeouts);
  visit("reader_too_slow", server.send_timeouts);
  visit("never_closed", server.linger_timeouts);
  visit("gave_way_silent", server.gave_way_silent);
  visit("gave_way_partial", server.gave_way_partial);
  visit("gave_way_idle", server.gave_way_idle);
  visit("over_client_limit", server.over_client_limit);
}

void add_named(std::string& text, std::string_view name, std::uint64_t count) {
  if (count != 0) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), name);
  }
}

}  // namespace

void add(ServeTotals& sum, const ServeTotals& each) {
  add(static_cast<ShardTotals&>(sum), static_cast<const ShardTotals&>(each));
  add_words(sum.server, each.server);
  sum.open += each.open;
  sum.latency.add(each.latency);
  sum.rtt.add(each.rtt);
}

std::uint64_t errors_of(const http::ServerCounters& server) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < cause_count; ++i) {
    sum += static_cast<Cause>(i) == Cause::finished ? 0 : server.ends[i];
  }
  return sum;
}

std::string_view name_of(hw::Ending ending) {
  return ending == hw::Ending::stopped     ? "stopped"
         : ending == hw::Ending::abandoned ? "abandoned"
                                           : "gone";
}

std::string shard_text(ShardId shard, const ServeTotals& totals) {
  return fmt::format(
      "{:<17}{} connections, {} requests, {} frames in, {} out, {} forwarded, "
      "{} from others\n",
      fmt::format("shard {}", shard.value), grouped(totals.server.connections),
      grouped(totals.server.requests), grouped(totals.port.frames_in),
      grouped(totals.port.frames_out), grouped(totals.shard.forwarded),
      grouped(totals.shard.given));
}

std::string with_shards(const std::string& summary, const std::vector<ServeTotals>& shards) {
  auto out = parse_json(summary);
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

std::string with_access_log(const std::string& summary, std::uint64_t lines, std::uint64_t lost) {
  auto out = parse_json(summary);
  out["access_log"] = {{"lines", lines}, {"lost", lost}};
  return json_text(out);
}

std::string summary_text(const ServeTotals& totals) {
  std::string answers;
  for (std::uint32_t i = 0; i < http::statuses.size(); ++i) {
    auto const line = http::statuses[i].line;
    add_named(answers, line.substr(0, line.size() - 1), totals.server.answers[i]);
  }
  std::string ends;
  visit_ends(totals.server,
             [&](std::string_view name, std::uint64_t count) { add_named(ends, name, count); });
  std::string const lost = losses_text(ShardTotals{}, totals);
  tcp::Counters const& tcp = totals.stack.tcp;
  std::string out = fmt::format("served for {}\n", text_of(totals.lasted));
  out += fmt::format("connections      {}{}\n", grouped(totals.server.connections),
                     ends.empty() ? "" : ": " + ends);
  out += fmt::format("requests         {}{}\n", grouped(totals.server.requests),
                     answers.empty() ? "" : ": " + answers);
  if (totals.latency.count() != 0) {
    out += fmt::format("latency          p50 {}, p99 {}, p99.9 {}, most {}; round trip p50 {}\n",
                       text_of(totals.latency.at({50'000})), text_of(totals.latency.at({99'000})),
                       text_of(totals.latency.at({99'900})), text_of(totals.latency.most()),
                       text_of(totals.rtt.at({50'000})));
  }
  out += fmt::format("octets           {} of data sent, {} received\n", grouped(tcp.bytes_sent),
                     grouped(tcp.bytes_delivered));
  out += fmt::format("frames           {} in, {} out, {} waited for space\n",
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
  out["ending"] = name_of(ending);
  out["connections"] = totals.server.connections;
  out["requests"] = totals.server.requests;
  out["latency_p50_ns"] = totals.latency.at({50'000}).ns;
  out["latency_p99_ns"] = totals.latency.at({99'000}).ns;
  out["rtt_p50_ns"] = totals.rtt.at({50'000}).ns;
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
    answers[std::to_string(static_cast<int>(http::statuses[i].status))] = totals.server.answers[i];
  }
  auto& ends = out["ends"] = nlohmann::ordered_json::object();
  visit_ends(totals.server,
             [&](std::string_view name, std::uint64_t count) { ends[std::string(name)] = count; });
  auto& lost = out["lost"] = nlohmann::ordered_json::object();
  visit_losses(ShardTotals{}, totals, [&](std::string_view name, std::uint64_t count) {
    lost[std::string(name)] = count;
  });
  return json_text(out);
}

}  // namespace lockstep::tools
