// The bounds of each attack, the runs, and the table.
#include "tools/verbs/hostile/hostile.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

using sim::Attack;

Config config_of(const std::string& profile) {
  const auto config = profile_by_name(profile);
  if (!config) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--profile {}: no such profile; choose default, rfc, linux or "
                              "freebsd",
                              profile));
  }
  return *config;
}

void note(std::string& broken, bool held, std::string_view name) {
  if (!held) {
    broken += broken.empty() ? "" : ", ";
    broken += name;
  }
}

// Profiles other than default: their segments and buffers grow in other steps, so the bound of each
// attack is half of the store. Without SYN cookies service under a flood cannot be guaranteed.
void note_elsewhere(HostileResult& out, const tcp::Config& tcp) {
  note(out.broken, out.report.most.blocks <= tcp.blocks_max.value / 2, "blocks");
  bool const promised =
      out.bound.attack != Attack::syn_flood || tcp.syn_cookies != tcp::SynCookies::off;
  note(out.broken, out.report.honest_done || !promised, "liveness");
}

std::string text_of(const std::vector<HostileResult>& results) {
  using Align = TextTable::Align;
  TextTable table({{"attack", Align::left},
                   {"frames"},
                   {"connections"},
                   {"half-open"},
                   {"blocks"},
                   {"replies/1000"},
                   {"amplified %"},
                   {"honest %"},
                   {"broken", Align::left}});
  const auto of = [](std::uint64_t value, std::uint64_t bound, std::string_view sign) {
    return fmt::format("{} ({}{})", value, sign, bound);
  };
  for (const HostileResult& each : results) {
    table.add({std::string(name_of(each.bound.attack)), fmt::format("{}", each.report.frames_in),
               of(each.report.most.connections, each.bound.connections, "<="),
               fmt::format("{}", each.report.most.half_open),
               of(each.report.most.blocks, each.bound.blocks, "<="),
               of(each.replies_per_mille, each.bound.replies_per_mille, "<="),
               of(each.amplified_percent, each.bound.amplified_percent, "<="),
               of(each.honest_percent, each.bound.honest_percent, ">="),
               each.broken.empty() ? "none" : each.broken});
  }
  return table.text(terminal_columns());
}

std::string json_of(const std::vector<HostileResult>& results) {
  auto out = nlohmann::ordered_json::array();
  for (const HostileResult& each : results) {
    const sim::HostileReport& report = each.report;
    out.push_back({{"attack", name_of(each.bound.attack)},
                   {"frames_in", report.frames_in},
                   {"bytes_in", report.bytes_in},
                   {"frames_out", report.frames_out},
                   {"bytes_out", report.bytes_out},
                   {"connections_most", report.most.connections},
                   {"active_most", report.most.active},
                   {"time_wait_most", report.most.time_wait},
                   {"blocks_most", report.most.blocks},
                   {"pieces_most", report.most.pieces},
                   {"extents_most", report.most.extents},
                   {"pending_acks_most", report.most.pending_acks},
                   {"half_open_most", report.most.half_open},
                   {"replies_per_mille", each.replies_per_mille},
                   {"amplified_percent", each.amplified_percent},
                   {"honest_done", report.honest_done},
                   {"honest_ns", report.honest_ns},
                   {"honest_percent", each.honest_percent},
                   {"broken", each.broken}});
  }
  return json_text(out);
}

}  // namespace

std::uint64_t part_of(std::uint64_t part, std::uint64_t whole, std::uint64_t of) {
  return whole == 0 ? 0 : (part * of + whole - 1) / whole;
}

std::vector<HostileBound> chosen_bounds(const HostileOptions& options) {
  std::vector<HostileBound> out;
  std::string known;
  for (HostileBound bound : hostile_bounds()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(bound.attack));
    if (options.attack.empty() || options.attack == name_of(bound.attack)) {
      bound.frames = options.frames == 0 ? bound.frames : options.frames;
      out.push_back(bound);
    }
  }
  if (out.empty()) {
    throw Failure(ExitCode::bad_input, fmt::format("--attack {}: no such attack; choose one of {}",
                                                   options.attack, known));
  }
  return out;
}

const std::vector<HostileBound>& hostile_bounds() {
  // Connections: about 16 of honest clients, 128 of a backlog, 8 of the attacker, and those that it
  // abandoned. Guessed segments also fill the backlog while a reset from the spoofed address is in
  // flight. Blocks: unread and unsent data of 8 connections; half of the store for a peer whose
  // many ACKs make buffers grow. Replies: at most one per frame, except to a peer that acknowledges
  // data. Octets: what was requested.
  static const std::vector<HostileBound> bounds{
      {Attack::syn_flood, 1'000'000, 160, 1'024, 1'050, 110, 90},
      {Attack::optimistic_acks, 20'000, 64, 1'024, 4'000, 6'000, 90},
      {Attack::ack_division, 20'000, 64, 2'048, 4'000, 6'000, 90},
      {Attack::silence, 20'000, 64, 1'024, 5'000, 8'000, 90},
      {Attack::shrinking_windows, 20'000, 64, 1'024, 4'000, 6'000, 90},
      {Attack::tiny_mss, 20'000, 64, 1'024, 4'000, 6'000, 90},
      {Attack::sequence_guesses, 100'000, 160, 1'024, 1'000, 110, 90},
      {Attack::ack_storm, 20'000, 64, 1'024, 1'000, 110, 90},
      {Attack::gaps, 20'000, 64, 1'024, 1'000, 110, 90},
      {Attack::option_bombs, 20'000, 64, 1'024, 1'000, 110, 90},
      {Attack::urgent_games, 20'000, 64, 1'024, 1'000, 2'000, 90},
      {Attack::icmp_forgeries, 100'000, 64, 1'024, 1'000, 110, 90},
      {Attack::sack_lies, 20'000, 64, 2'048, 1'500, 2'500, 90},
      {Attack::reneging, 20'000, 64, 2'048, 1'500, 2'500, 90},
      {Attack::dsack_lies, 20'000, 64, 2'048, 1'500, 2'500, 90},
      {Attack::old_stamps, 20'000, 64, 2'048, 4'000, 6'000, 90},
      {Attack::overlapping_fragments, 20'000, 64, 1'024, 1'000, 110, 90},
  };
  return bounds;
}

HostileResult judge_lie(const HostileBound& bound, const HostileTarget& target,
                        std::uint64_t seed) {
  HostileResult out;
  out.bound = bound;
  out.report = sim::run_hostile({bound.attack, bound.frames, config_of(target.profile)}, seed);
  const sim::HostileReport& report = out.report;
  out.replies_per_mille = part_of(report.frames_out, report.frames_in, 1'000);
  out.amplified_percent = part_of(report.bytes_out, report.bytes_in, 100);
  out.honest_percent = report.honest_ns == 0 ? 0 : target.quiet_ns * 100 / report.honest_ns;
  note(out.broken, report.most.connections <= bound.connections, "connections");
  if (target.profile != "default") {
    note_elsewhere(out, config_of(target.profile).tcp);
    return out;
  }
  note(out.broken, report.most.blocks <= bound.blocks, "blocks");
  note(out.broken, out.replies_per_mille <= bound.replies_per_mille, "replies");
  note(out.broken, out.amplified_percent <= bound.amplified_percent, "amplification");
  note(out.broken, report.honest_done && out.honest_percent >= bound.honest_percent, "honest");
  return out;
}

std::uint64_t quiet_time(const std::string& profile, std::uint64_t seed) {
  return sim::run_hostile({Attack::syn_flood, 0, config_of(profile)}, seed).honest_ns;
}

int run_hostile_verb(const HostileOptions& options) {
  const std::vector<HostileBound> bounds = chosen_bounds(options);
  const HostileTarget target{options.profile, quiet_time(options.profile, options.seed)};
  std::vector<HostileResult> results;
  bool held = true;
  for (const HostileBound& bound : bounds) {
    results.push_back(judge_lie(bound, target, options.seed));
    held = held && results.back().broken.empty();
  }
  fmt::print("{}", text_of(results));
  if (!options.json.empty()) {
    save_file(options.json, json_of(results));
  }
  return static_cast<int>(held ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::tools
