// Renders failures: two columns, a sequence diagram, the connection's state.
#include "conformance/suite/failures.hpp"

#include <fmt/format.h>

#include <vector>

#include "conformance/replay/report.hpp"
#include "tools/base/capture/decode.hpp"
#include "tools/base/output/sequence.hpp"
#include "tools/base/output/xml.hpp"

namespace lockstep::conformance {
namespace {

using tools::xml_escaped;

std::string scroll(const std::string& inside) {
  return "<div class=\"scroll\">" + inside + "</div>\n";
}

std::string frame(const std::string& name, const std::string& why, const std::string& inside) {
  return fmt::format("<article class=\"failure\"><h3>{}</h3><p>{}</p>\n{}</article>\n",
                     xml_escaped(name), xml_escaped(why), inside);
}

std::string diff_html(const std::vector<DiffRow>& rows) {
  std::string out =
      "<table class=\"diff\"><tr><th>time</th><th>the capture</th><th>Lockstep</th></tr>\n";
  for (const DiffRow& row : rows) {
    out += fmt::format("<tr{}><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                       row.marked ? " class=\"marked\"" : "", time_text(row.at.since(Instant{})),
                       xml_escaped(row.left), xml_escaped(row.right));
  }
  return out + "</table>";
}

/// The text of a column after its arrow.
std::string without_sign(const std::string& text) {
  return text.size() > 2 ? text.substr(2) : text;
}

std::string diagram(const std::vector<DiffRow>& rows) {
  constexpr std::size_t captured = 0, peer = 1, core = 2;
  std::vector<tools::SequenceStep> steps;
  for (const DiffRow& row : rows) {
    std::string const time = time_text(row.at.since(Instant{}));
    switch (row.kind) {
      case DiffRow::Kind::from_peer:
        steps.push_back({time, peer, captured, without_sign(row.left), false});
        steps.push_back({"", peer, core, without_sign(row.right), row.marked});
        break;
      case DiffRow::Kind::from_captured:
        steps.push_back({time, captured, peer, without_sign(row.left), row.marked});
        break;
      case DiffRow::Kind::from_core:
        steps.push_back({time, core, peer, without_sign(row.right), row.marked});
        break;
      case DiffRow::Kind::call:
        steps.push_back({time, captured, captured, without_sign(row.left), row.marked});
        break;
    }
  }
  return tools::sequence_svg({"the capture's device", "its peer", "Lockstep"}, steps);
}

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 4; i > 0; --i) {
    out = out << 8 | std::to_integer<std::uint32_t>(bytes[at + i - 1]);
  }
  return out;
}

/// The packets of a little-endian pcapng file of raw IP with nanosecond timestamps.
std::vector<tools::CapturedFrame> frames_of(std::span<const std::byte> pcapng) {
  constexpr std::uint32_t packet_block = 6;
  constexpr std::size_t head = 28;
  std::vector<tools::CapturedFrame> out;
  for (std::size_t at = 0; at + 12 <= pcapng.size();) {
    std::size_t const length = word_at(pcapng, at + 4);
    if (length < 12 || length > pcapng.size() - at) {
      break;
    }
    if (word_at(pcapng, at) == packet_block && length >= head + 4) {
      std::size_t const bytes = word_at(pcapng, at + 20);
      if (bytes > length - head - 4) {
        break;
      }
      tools::CapturedFrame frame;
      frame.number = out.size() + 1;
      frame.time =
          Instant{std::uint64_t{word_at(pcapng, at + 12)} << 32 | word_at(pcapng, at + 16)};
      frame.original_bytes = static_cast<std::uint32_t>(bytes);
      auto const packet = pcapng.subspan(at + head, bytes);
      frame.bytes.assign(packet.begin(), packet.end());
      out.push_back(std::move(frame));
    }
    at += length;
  }
  return out;
}

std::string label_of(const tools::Decoded& decoded) {
  if (decoded.kind != tools::FrameKind::tcp) {
    return std::string(name_of(decoded.kind));
  }
  constexpr std::string_view order = "FSRPAUEC";
  const tools::Segment& segment = decoded.segment;
  std::string flags;
  for (std::size_t bit = 0; bit < order.size(); ++bit) {
    if ((segment.flags >> bit & 1) != 0) {
      flags += order[bit];
    }
  }
  std::string out = fmt::format("{} seq {}", flags, segment.sequence);
  out += segment.data_bytes() != 0 ? fmt::format("+{}", segment.data_bytes()) : "";
  out += segment.any(tools::tcp_flag::ack) ? fmt::format(" ack {}", segment.acknowledgment) : "";
  return out;
}

}  // namespace

std::string capture_svg(std::span<const std::byte> pcapng, std::size_t most) {
  std::vector<tools::CapturedFrame> const frames = frames_of(pcapng);
  std::size_t const first = frames.size() > most ? frames.size() - most : 0;
  std::vector<std::string> lanes;
  std::vector<tools::SequenceStep> steps;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    tools::Decoded const decoded = decode(frames[i], tools::LinkLayer::raw_ip);
    bool const is_tcp = decoded.kind == tools::FrameKind::tcp;
    std::string const source = is_tcp ? tools::text_of(decoded.segment.source) : "";
    if (lanes.empty() && is_tcp) {
      lanes = {source, tools::text_of(decoded.segment.destination)};
    }
    if (i >= first) {
      std::size_t const from = !lanes.empty() && source == lanes[0] ? 0 : 1;
      steps.push_back({time_text(frames[i].time.since(frames[0].time)), from,
                       is_tcp ? 1 - from : from, label_of(decoded), i + 1 == frames.size()});
    }
  }
  return lanes.empty() ? "" : tools::sequence_svg(lanes, steps);
}

std::string failure_html(const std::string& name, const std::string& why,
                         const Replayed& replayed) {
  std::string inside;
  if (replayed.verdict.divergence) {
    std::vector<DiffRow> const rows = divergence_rows(replayed);
    inside = fmt::format("<p>{} ({})</p>", xml_escaped(replayed.verdict.divergence->text),
                         xml_escaped(replayed.verdict.divergence->clause)) +
             scroll(diff_html(rows)) + scroll(diagram(rows)) +
             scroll("<pre>" + xml_escaped(divergence_state(replayed)) + "</pre>");
  }
  return frame(name, why, inside);
}

std::string failure_html(const script::Ran& ran) {
  if (ran.verdict == script::Verdict::bad) {
    return frame(ran.file, ran.error, "");
  }
  constexpr std::size_t packets_most = 12;
  return frame(ran.file, fmt::format("line {}: {}", ran.finding.place.line, ran.finding.what),
               scroll("<pre>" + xml_escaped(finding_text(ran)) + "</pre>") +
                   scroll(capture_svg(ran.capture, packets_most)));
}

}  // namespace lockstep::conformance
