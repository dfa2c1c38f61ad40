// The two-column packet diff and the state of the connection, as text.
#include "conformance/replay/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "conformance/replay/options.hpp"
#include "conformance/replay/sentences.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

/// One line of one column.
struct Line {
  Instant at;
  std::string text;
  bool marked = false;
};

std::string letters(std::uint8_t flags) {
  constexpr std::string_view order = "FSRPAUEC";
  std::string out;
  for (std::size_t bit = 0; bit < order.size(); ++bit) {
    if ((flags >> bit & 1) != 0 && bit != 3) {
      out += order[bit];
    }
  }
  return out.empty() ? "-" : out;
}

/// The options in short form, with relative numbers.
std::string options_text(const Segment& segment, std::uint32_t peer_isn) {
  std::string out;
  for (const tools::TcpOption& option : tools::options_of(segment)) {
    if (option.kind == 2 && option.data.size() == 2) {
      out += fmt::format(" mss {}", tools::word_at(option.data, 0));
    } else if (option.kind == 3 && option.data.size() == 1) {
      out += fmt::format(" scale {}", tools::octet_at(option.data, 0));
    } else if (option.kind == option_kind::sack_permitted) {
      out += " sackok";
    } else if (option.kind == option_kind::fast_open) {
      out += " tfo";
    } else if (option.kind != option_kind::sack && option.kind != option_kind::timestamps) {
      out += fmt::format(" option {}", option.kind);
    }
  }
  if (auto const stamps = stamps_of(segment)) {
    out += fmt::format(" ts {}/{}", stamps->value, stamps->echo);
  }
  for (const Block& block : blocks_of(segment)) {
    out += fmt::format(" sack {}-{}", block.left - peer_isn, block.right - peer_isn);
  }
  return out;
}

std::string segment_text(const Segment& segment, std::uint32_t isn, std::uint32_t peer_isn,
                         std::uint64_t window_bytes) {
  std::string out = fmt::format("{:<3} seq {}", letters(segment.flags), segment.sequence - isn);
  if (segment.data_bytes() != 0) {
    out += fmt::format("+{}", segment.data_bytes());
  }
  if (segment.any(flag::ack)) {
    out += fmt::format(" ack {}", segment.acknowledgment - peer_isn);
  }
  out += fmt::format(" win {}", segment.window);
  if (window_bytes != segment.window) {
    out += fmt::format(" ({})", window_bytes);
  }
  return out + options_text(segment, peer_isn);
}

class Diff {
 public:
  explicit Diff(const Replayed& replayed)
      : script_(replayed.script), run_(replayed.run), divergence_(*replayed.verdict.divergence) {
    for (const Step& step : script_.steps) {
      if (step.kind == Step::Kind::segment && step.segment.any(flag::syn)) {
        peer_isn_ = step.segment.sequence;
        break;
      }
    }
  }

  std::string text() {
    std::vector<DiffRow> const all = rows();
    std::size_t width = 42;
    for (const DiffRow& row : all) {
      width = std::max(width, row.left.size());
    }
    std::string out = fmt::format("  {:>10}  {:<{}} | {}\n", "time", "capture", width, "core");
    for (const DiffRow& row : all) {
      out += fmt::format("{} {:>10}  {:<{}} | {}\n", row.marked ? ">" : " ",
                         time_text(row.at.since(Instant{})), row.left, width, row.right);
    }
    return out + state();
  }

  /// At most five rows before the divergence and three after it.
  std::vector<DiffRow> rows() const {
    Instant const centre = moment();
    std::vector<Row> all;
    add_steps(all);
    add_sent(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].place = i;
    }
    std::sort(all.begin(), all.end(), [](const Row& a, const Row& b) {
      return std::tie(a.at.ns, a.order, a.place) < std::tie(b.at.ns, b.order, b.place);
    });
    auto const marked = std::find_if(all.begin(), all.end(),
                                     [&](const Row& row) { return row.marked || row.at > centre; });
    auto const index = marked - all.begin();
    auto const first = all.begin() + std::max<std::ptrdiff_t>(0, index - 5);
    auto const last = all.begin() + std::min<std::ptrdiff_t>(std::ssize(all), index + 4);
    return {first, last};
  }

  /// The core's connection state at the divergence.
  std::string state() const {
    Instant const centre = moment();
    View view;
    for (std::size_t i = 0; i < script_.steps.size(); ++i) {
      if (run_.steps[i].done && script_.steps[i].at <= centre) {
        view = run_.steps[i].after;
      }
    }
    if (divergence_.live) {
      view = run_.sent[*divergence_.live].view;
    }
    return state_of(view);
  }

 private:
  struct Row : DiffRow {
    std::size_t order = 0;
    std::size_t place = 0;  // order among equal times
  };

  Instant moment() const {
    if (divergence_.live) {
      return run_.sent[*divergence_.live].captured_time();
    }
    if (divergence_.captured) {
      return script_.sent[*divergence_.captured].at;
    }
    return run_.is_stuck() ? script_.steps[run_.stuck_step].at : script_.end;
  }

  std::uint32_t isn(std::uint32_t incarnation) const {
    return incarnation == 0 || incarnation > script_.isns.size() ? 0
                                                                 : script_.isns[incarnation - 1];
  }

  void add_steps(std::vector<Row>& all) const {
    for (std::size_t i = 0; i < script_.steps.size(); ++i) {
      const Step& step = script_.steps[i];
      Row row;
      row.at = step.at;
      row.order = 4 * i;
      if (step.kind == Step::Kind::call) {
        row.kind = DiffRow::Kind::call;
        row.left = fmt::format("  the application: {}{}", name_of(step.act),
                               step.bytes != 0 ? fmt::format(" {}", step.bytes) : "");
        row.right = run_.steps[i].done ? "  the same" : "  not reached";
      } else if (step.kind == Step::Kind::segment) {
        std::string const text =
            segment_text(step.segment, peer_isn_, isn(step.incarnation), step.window_bytes);
        row.left = fmt::format("< {} {}", step.packet, text);
        row.right = run_.steps[i].skipped ? "< left out"
                    : run_.steps[i].done  ? "< the same" + dropped_text(run_.steps[i])
                                          : "< not reached";
      } else {
        row.left = fmt::format("< {} ICMP error", step.packet);
        row.right = "< the same";
      }
      row.marked = divergence_.kind == Divergence::Kind::stuck && run_.stuck_step == i;
      all.push_back(std::move(row));
    }
  }

  void add_sent(std::vector<Row>& all) const {
    for (std::size_t i = 0; i < script_.sent.size(); ++i) {
      const Sent& sent = script_.sent[i];
      Row row;
      row.kind = DiffRow::Kind::from_captured;
      row.at = sent.at;
      row.order = 4 * sent.steps_before + 1;
      row.left = fmt::format(
          "> {} {}", sent.segment.number,
          segment_text(sent.segment, isn(sent.incarnation), peer_isn_, sent.window_bytes));
      row.marked = divergence_.captured == i;
      all.push_back(std::move(row));
    }
    for (std::size_t i = 0; i < run_.sent.size(); ++i) {
      const LiveSent& sent = run_.sent[i];
      Row row;
      row.kind = DiffRow::Kind::from_core;
      row.at = sent.captured_time();
      row.order = 4 * sent.steps + 2;
      Segment shown = sent.segment;
      shown.sequence = run_.as_captured(script_, shown.sequence, sent.incarnation);
      row.right = "> " + segment_text(shown, isn(sent.incarnation), peer_isn_, sent.window_bytes);
      row.marked = divergence_.live == i;
      all.push_back(std::move(row));
    }
  }

  /// The name and sentence of the drop counter.
  static std::string dropped_text(const StepRecord& record) {
    return record.dropped == Drop::none
               ? ""
               : fmt::format(", dropped as {}: {}", name_of(record.dropped),
                             text_of(record.dropped));
  }

  static std::string state_of(const View& view) {
    if (!view.info.exists) {
      return fmt::format("  state {}\n", tcp::name_of(view.state));
    }
    const ConnectionInfo& info = view.info;
    std::uint32_t const iss = info.send.iss.value;
    return fmt::format(
        "  state {}: una {} nxt {} wnd {} queued {} | nxt {} wnd {} unread {} above gaps {}\n"
        "  cwnd {} ssthresh {} duplicates {} recovery {} | rto {} srtt {} retries {}\n",
        tcp::name_of(view.state), info.send.una.value - iss, info.send.nxt.value - iss,
        info.send.wnd.count, info.send.queued.count,
        info.receive.nxt.value - info.receive.irs.value, info.receive.wnd.count,
        info.receive.unread.count, info.receive.out_of_order.count, info.cwnd.count,
        info.ssthresh.count, info.duplicate_acks, info.fast_recovery ? "yes" : "no",
        time_text(info.rto), time_text(info.srtt), info.retries);
  }

  const Script& script_;
  const LiveRun& run_;
  const Divergence& divergence_;
  std::uint32_t peer_isn_ = 0;
};

}  // namespace

std::string time_text(Duration time) {
  return fmt::format("{}.{:06} s", time.ns / 1'000'000'000, time.ns / 1'000 % 1'000'000);
}

std::string verdict_text(const Verdict& verdict) {
  std::string out(name_of(verdict.judgement));
  if (verdict.judgement == Judgement::cannot_tell) {
    return out + ": " + verdict.reason;
  }
  if (verdict.judgement == Judgement::core_differs) {
    return out + " " + verdict.divergence->clause +
           ": our own TCP is wrong here and the captured device is not: please report it with the "
           "capture";
  }
  if (verdict.divergence) {
    return out + " " + verdict.divergence->clause;
  }
  for (std::size_t i = 0; i < verdict.rules.size(); ++i) {
    out += (i == 0 ? ": " : ", ") + verdict.rules[i];
  }
  return out;
}

std::string divergence_text(const Replayed& replayed) {
  if (!replayed.verdict.divergence) {
    return {};
  }
  std::string out = violations_text(replayed.verdict);
  return replayed.run.steps.size() == replayed.script.steps.size() ? out + Diff(replayed).text()
                                                                   : out;
}

std::string violations_text(const Verdict& verdict) {
  std::string out;
  for (const Violation& violation : verdict.violations) {
    std::string const packet =
        violation.packet != 0 ? fmt::format("packet {}: ", violation.packet) : std::string();
    std::string const more =
        violation.count > 1 ? fmt::format(", {} times", violation.count) : std::string();
    out += fmt::format("  {}{}{} ({})\n", packet, violation.text, more, violation.clause);
    if (std::string_view const sentence = sentence_of(violation.clause); !sentence.empty()) {
      out += fmt::format("    {}: {}\n", violation.clause, sentence);
    }
  }
  return out;
}

std::vector<DiffRow> divergence_rows(const Replayed& replayed) {
  return replayed.verdict.divergence ? Diff(replayed).rows() : std::vector<DiffRow>{};
}

std::string divergence_state(const Replayed& replayed) {
  return replayed.verdict.divergence ? Diff(replayed).state() : std::string{};
}

}  // namespace lockstep::conformance
