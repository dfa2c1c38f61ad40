// Formats findings as tables, JSON and packet comments.
#include "tools/verbs/lint/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "sim/checkers/referee/sentences.hpp"
#include "sim/kernel/pcapng.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/table.hpp"

namespace lockstep::tools {
namespace {

using namespace sim::referee;

std::string number_text(std::string_view name, std::uint64_t value) {
  if (name.ends_with("_ns")) {
    name.remove_suffix(3);
    return fmt::format("{} {}.{:03} ms", name, value / 1'000'000, value / 1'000 % 1'000);
  }
  return fmt::format("{} {}", name, value);
}

std::string_view name_of(Certainty certainty) {
  constexpr std::array<std::string_view, 3> names{"certain", "likely", "note"};
  return names[static_cast<std::size_t>(certainty)];
}

std::string_view name_of(FileOrder order) {
  constexpr std::array<std::string_view, 3> names{"file", "time", "unknown"};
  return names[static_cast<std::size_t>(order)];
}

bool has_ends(const Violation& violation) { return violation.connection != ~std::uint32_t{0}; }

std::string speaker_of(const Violation& violation) {
  return has_ends(violation) ? text_of(violation.speaker) : "-";
}

std::string comment_of(const Violation& violation) {
  RuleText const& text = sim::referee::text_of(violation.rule);
  return fmt::format("{} {} ({}): {} [{}]", name_of(violation.certainty()), text.clause, text.name,
                     words_of(violation), sentence_of(text.clause));
}

sim::CaptureLink link_of(LinkLayer link, std::span<const std::byte> bytes) {
  switch (link) {
    case LinkLayer::ethernet:
      return sim::CaptureLink::ethernet;
    case LinkLayer::linux_cooked:
      return sim::CaptureLink::linux_cooked;
    case LinkLayer::linux_cooked_2:
      return sim::CaptureLink::linux_cooked_2;
    case LinkLayer::ppp:
      return sim::CaptureLink::ppp;
    case LinkLayer::pktap:
      return sim::CaptureLink::pktap;
    case LinkLayer::loopback:
      // The byte order of the address family distinguishes the two loopback link types.
      return !bytes.empty() && bytes[0] == std::byte{} ? sim::CaptureLink::loop
                                                       : sim::CaptureLink::null;
    case LinkLayer::raw_ip:
      break;
  }
  return sim::CaptureLink::raw_ip;
}

/// Findings of one rule, sender, connection and certainty: the first of them and their count.
struct Cause {
  static constexpr std::size_t shown_max = 5;

  std::vector<const Violation*> shown;
  std::uint64_t count = 0;
};

/// Groups findings, ordered by their first one. Of notes only one each is shown.
std::vector<Cause> causes_of(const Linted& linted) {
  std::vector<Cause> causes;
  std::map<std::tuple<std::uint32_t, Rule, Certainty, Endpoint>, std::size_t> places;
  for (const Violation& violation : linted.violations) {
    auto const [found, is_new] = places.try_emplace(
        {violation.connection, violation.rule, violation.certainty(), violation.speaker},
        causes.size());
    if (is_new) {
      causes.emplace_back();
    }
    Cause& cause = causes[found->second];
    cause.count += 1 + violation.more;
    std::size_t const most = violation.certainty() == Certainty::note ? 1 : Cause::shown_max;
    if (cause.shown.size() < most) {
      cause.shown.push_back(&violation);
    }
  }
  return causes;
}

/// How often each rule was broken, by certainty.
std::map<Rule, std::array<std::uint64_t, 3>> by_rule(const Linted& linted) {
  std::map<Rule, std::array<std::uint64_t, 3>> counts;
  for (const Violation& violation : linted.violations) {
    counts[violation.rule][static_cast<std::size_t>(violation.certainty())] += 1 + violation.more;
  }
  return counts;
}

}  // namespace

std::string words_of(const Violation& violation) {
  RuleText const& text = sim::referee::text_of(violation.rule);
  std::string numbers;
  if (!text.expected.empty()) {
    numbers = number_text(text.expected, violation.numbers.expected);
  }
  if (!text.found.empty()) {
    numbers += (numbers.empty() ? "" : ", ") + number_text(text.found, violation.numbers.found);
  }
  std::string out(text.words);
  if (!numbers.empty()) {
    out += fmt::format(" ({})", numbers);
  }
  if (violation.ambiguity != Ambiguity::none) {
    out += fmt::format("; {}", sim::referee::text_of(violation.ambiguity));
  }
  return out;
}

std::string table_of(const Linted& linted, std::size_t columns) {
  if (linted.violations.empty()) {
    return {};
  }
  using Align = TextTable::Align;
  TextTable table({{"packet", Align::right},
                   {"certainty", Align::left},
                   {"clause", Align::left},
                   {"speaker", Align::left},
                   {"finding", Align::left}});
  for (Cause const& cause : causes_of(linted)) {
    const Violation& first = *cause.shown.front();
    for (const Violation* violation : cause.shown) {
      table.add({fmt::format("{}", violation->packet), std::string(name_of(violation->certainty())),
                 std::string(sim::referee::text_of(violation->rule).clause), speaker_of(*violation),
                 words_of(*violation)});
    }
    if (cause.count > cause.shown.size()) {
      table.add({"", "", "", speaker_of(first),
                 fmt::format("{} more: {}", cause.count - cause.shown.size(),
                             sim::referee::text_of(first.rule).words)});
    }
  }
  return table.text(columns);
}

std::string counts_of(const Linted& linted, std::size_t columns) {
  if (linted.violations.empty()) {
    return {};
  }
  using Align = TextTable::Align;
  TextTable table({{"certain", Align::right},
                   {"likely", Align::right},
                   {"notes", Align::right},
                   {"rule", Align::left},
                   {"clause", Align::left},
                   {"clause text", Align::left}});
  for (auto const& [rule, counts] : by_rule(linted)) {
    RuleText const& text = sim::referee::text_of(rule);
    table.add({fmt::format("{}", counts[0]), fmt::format("{}", counts[1]),
               fmt::format("{}", counts[2]), std::string(text.name), std::string(text.clause),
               std::string(sentence_of(text.clause))});
  }
  return table.text(columns);
}

nlohmann::ordered_json json_of(const Linted& linted, const std::string& capture) {
  nlohmann::ordered_json out;
  out["capture"] = capture;
  if (!linted.warning.empty()) {
    out["warning"] = linted.warning;
  }
  out["packets"] = linted.packets;
  out["segments"] = linted.segments;
  out["connections"] = linted.connections;
  out["segments_not_judged"] = linted.unjudged;
  out["certain"] = linted.certain();
  out["likely"] = linted.likely();
  out["notes"] = linted.notes();
  out["copies_not_judged"] = linted.copies;
  out["segments_joined_by_hardware"] = linted.joined;
  out["order"] = name_of(linted.order);
  out["findings_only_counted"] = linted.beyond;
  out["findings"] = nlohmann::ordered_json::array();
  for (const Violation& violation : linted.violations) {
    RuleText const& text = sim::referee::text_of(violation.rule);
    nlohmann::ordered_json row;
    row["packet"] = violation.packet;
    row["time_ns"] = violation.at.ns;
    row["certainty"] = name_of(violation.certainty());
    row["reason"] = sim::referee::text_of(violation.ambiguity);
    row["clause"] = text.clause;
    row["sentence"] = sentence_of(text.clause);
    row["rule"] = text.name;
    row["speaker"] = has_ends(violation) ? text_of(violation.speaker) : "";
    row["listener"] = has_ends(violation) ? text_of(violation.listener) : "";
    row["finding"] = words_of(violation);
    for (auto const& [name, value] : {std::pair{text.expected, violation.numbers.expected},
                                      std::pair{text.found, violation.numbers.found}}) {
      if (!name.empty()) {
        row["numbers"][std::string(name)] = value;
      }
    }
    if (violation.more != 0) {
      row["more"] = violation.more;
    }
    out["findings"].push_back(row);
  }
  out["rules"] = nlohmann::ordered_json::array();
  for (auto const& [rule, counts] : by_rule(linted)) {
    RuleText const& text = sim::referee::text_of(rule);
    out["rules"].push_back({{"rule", text.name},
                            {"clause", text.clause},
                            {"sentence", sentence_of(text.clause)},
                            {"certain", counts[0]},
                            {"likely", counts[1]},
                            {"notes", counts[2]}});
  }
  return out;
}

void write_commented(const Linted& linted, const std::string& capture, const std::string& path) {
  AtomicFile file(path);
  sim::PcapngWriter writer(file);
  CaptureReader reader(capture);
  CapturedFrame frame;
  std::size_t next = 0;
  std::vector<sim::CaptureLink> interfaces;  // of the copy: one for each link type
  while (reader.next(frame)) {
    sim::CaptureLink const link = link_of(reader.link(), frame.bytes);
    auto const found = std::find(interfaces.begin(), interfaces.end(), link);
    auto const index = static_cast<std::uint32_t>(found - interfaces.begin());
    if (found == interfaces.end()) {
      interfaces.push_back(link);
      writer.interface(link, "lint");
    }
    std::string comment;
    for (; next < linted.violations.size() && linted.violations[next].packet == frame.number;
         ++next) {
      comment += (comment.empty() ? "" : "\n") + comment_of(linted.violations[next]);
    }
    constexpr std::size_t comment_max = 60'000;  // an option's length has 16 bits
    comment.resize(std::min(comment.size(), comment_max));
    writer.packet({index, frame.time, sim::CaptureWay::unknown, frame.bytes, comment,
                   frame.original_bytes - static_cast<std::uint32_t>(frame.bytes.size())});
  }
  file.keep();
}

}  // namespace lockstep::tools
