// Prints findings, and writes them as JSON and as packet comments.
#include "tools/lint/report.hpp"

#include <fmt/core.h>

#include "sim/kernel/pcapng.hpp"
#include "tools/output/draft_file.hpp"
#include "tools/output/table.hpp"

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
  return certainty == Certainty::certain ? "certain" : "likely";
}

bool has_ends(const Foul& foul) { return foul.connection != ~std::uint32_t{0}; }

std::string speaker_of(const Foul& foul) { return has_ends(foul) ? text_of(foul.speaker) : "-"; }

std::string comment_of(const Foul& foul) {
  return fmt::format("{} {} ({}): {}", name_of(foul.certainty()),
                     sim::referee::text_of(foul.rule).clause,
                     sim::referee::text_of(foul.rule).name, words_of(foul));
}

sim::CaptureLink link_of(LinkLayer link, std::span<const std::byte> first) {
  switch (link) {
    case LinkLayer::ethernet:
      return sim::CaptureLink::ethernet;
    case LinkLayer::linux_cooked:
      return sim::CaptureLink::linux_cooked;
    case LinkLayer::linux_cooked_2:
      return sim::CaptureLink::linux_cooked_2;
    case LinkLayer::ppp:
      return sim::CaptureLink::ppp;
    case LinkLayer::loopback:
      // Which of the two it is shows in the family's byte order.
      return !first.empty() && first[0] == std::byte{} ? sim::CaptureLink::loop
                                                       : sim::CaptureLink::null;
    case LinkLayer::raw_ip:
      break;
  }
  return sim::CaptureLink::raw_ip;
}

}  // namespace

std::string words_of(const Foul& foul) {
  RuleText const& text = sim::referee::text_of(foul.rule);
  std::string numbers;
  if (!text.expected.empty()) {
    numbers = number_text(text.expected, foul.numbers.expected);
  }
  if (!text.found.empty()) {
    numbers += (numbers.empty() ? "" : ", ") + number_text(text.found, foul.numbers.found);
  }
  std::string out(text.words);
  if (!numbers.empty()) {
    out += fmt::format(" ({})", numbers);
  }
  if (foul.doubt != Doubt::none) {
    out += fmt::format("; {}", sim::referee::text_of(foul.doubt));
  }
  return out;
}

std::string table_of(const Linted& linted, std::size_t columns) {
  if (linted.fouls.empty()) {
    return {};
  }
  using Align = TextTable::Align;
  TextTable table({{"packet", Align::right},
                   {"certainty", Align::left},
                   {"clause", Align::left},
                   {"speaker", Align::left},
                   {"finding", Align::left}});
  for (const Foul& foul : linted.fouls) {
    table.add({fmt::format("{}", foul.packet), std::string(name_of(foul.certainty())),
               std::string(sim::referee::text_of(foul.rule).clause), speaker_of(foul),
               words_of(foul)});
  }
  return table.text(columns);
}

nlohmann::ordered_json json_of(const Linted& linted, const std::string& capture) {
  nlohmann::ordered_json out;
  out["capture"] = capture;
  out["packets"] = linted.packets;
  out["segments"] = linted.segments;
  out["connections"] = linted.connections;
  out["segments_not_judged"] = linted.unjudged;
  out["certain"] = linted.certain();
  out["likely"] = linted.likely();
  out["findings_only_counted"] = linted.beyond;
  out["findings"] = nlohmann::ordered_json::array();
  for (const Foul& foul : linted.fouls) {
    RuleText const& text = sim::referee::text_of(foul.rule);
    nlohmann::ordered_json row;
    row["packet"] = foul.packet;
    row["time_ns"] = foul.at.ns;
    row["certainty"] = name_of(foul.certainty());
    row["reason"] = sim::referee::text_of(foul.doubt);
    row["clause"] = text.clause;
    row["rule"] = text.name;
    row["speaker"] = has_ends(foul) ? text_of(foul.speaker) : "";
    row["listener"] = has_ends(foul) ? text_of(foul.listener) : "";
    row["finding"] = words_of(foul);
    for (auto const& [name, value] : {std::pair{text.expected, foul.numbers.expected},
                                      std::pair{text.found, foul.numbers.found}}) {
      if (!name.empty()) {
        row["numbers"][std::string(name)] = value;
      }
    }
    out["findings"].push_back(row);
  }
  return out;
}

void write_commented(const Linted& linted, const std::string& capture, const std::string& path) {
  DraftFile file(path);
  sim::PcapngWriter writer(file);
  CaptureReader reader(capture);
  CapturedFrame frame;
  std::size_t next = 0;
  while (reader.next(frame)) {
    if (writer.packets() == 0) {
      writer.interface(link_of(reader.link(), frame.bytes), "lint");
    }
    std::string comment;
    for (; next < linted.fouls.size() && linted.fouls[next].packet == frame.number; ++next) {
      comment += (comment.empty() ? "" : "\n") + comment_of(linted.fouls[next]);
    }
    constexpr std::size_t comment_max = 60'000;  // an option's length has 16 bits
    comment.resize(std::min(comment.size(), comment_max));
    writer.packet({0, frame.time, sim::CaptureWay::unknown, frame.bytes, comment,
                   frame.original_bytes - static_cast<std::uint32_t>(frame.bytes.size())});
  }
  file.keep();
}

}  // namespace lockstep::tools
