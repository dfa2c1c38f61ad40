// Walks through the captured and the live segments in parallel up to the first difference.
#include "conformance/replay/exact.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "conformance/replay/attribution.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

constexpr Duration delayed_ack_max = Duration::milliseconds(500);  // RFC 9293 3.8.6.3
constexpr Duration slack = Duration::milliseconds(1);  // computed times may be rounded differently

std::optional<std::uint16_t> mss_of(const Segment& segment) {
  for (const tools::TcpOption& option : tools::options_of(segment)) {
    if (option.kind == 2 && option.data.size() == 2) {
      return static_cast<std::uint16_t>(std::to_integer<unsigned>(option.data[0]) << 8 |
                                        std::to_integer<unsigned>(option.data[1]));
    }
  }
  return std::nullopt;
}

Duration apart(Instant a, Instant b) { return a < b ? b.since(a) : a.since(b); }

class Walk {
 public:
  Walk(const Script& script, const LiveRun& run, const Config& config,
       const std::vector<std::string>& shows)
      : script_(script), run_(run), attribution_(script, run, config), shows_(shows) {}

  Verdict run() {
    Verdict verdict;
    while (!verdict.divergence) {
      drop_late_live();
      bool const captured_left = captured_ < script_.sent.size();
      bool const live_left = live_ < run_.sent.size();
      if (!captured_left && !live_left) {
        return verdict;
      }
      if (!live_left) {
        verdict.divergence = missing();
      } else if (!captured_left) {
        verdict.divergence = unexpected();
      } else {
        verdict.divergence = both();
      }
    }
    verdict.judgement = Judgement::violates;
    return verdict;
  }

 private:
  const Sent& captured() const { return script_.sent[captured_]; }
  const LiveSent& live() const { return run_.sent[live_]; }

  /// Ignores what the core sent after the end of the capture.
  void drop_late_live() {
    if (live_ < run_.sent.size() && live().captured_time() > script_.end) {
      live_ = run_.sent.size();
    }
  }

  std::optional<Divergence> both() {
    Instant const then = captured().at;
    Instant const now = live().captured_time();
    if (same_content(script_, run_, captured(), live())) {
      if (same_class(then, now)) {
        ++captured_;
        ++live_;
        return std::nullopt;
      }
      return elsewhen(then < now);
    }
    if (then != now && apart(then, now) > Duration{}) {
      return then < now ? (sent_later() ? timing_of_captured() : missing())
                        : (captured_later() ? timing_of_live() : unexpected());
    }
    if (in_this_instant_live()) {
      return unexpected_before_match();
    }
    if (in_this_instant_captured()) {
      return missing();
    }
    return differs();
  }

  /// Whether the times match: equal, or for an ACK that a timer sends, within half a second.
  bool same_class(Instant then, Instant now) const {
    if (!live().by_timer) {
      return then == now;
    }
    bool const delayed =
        live().timer == tcp::TimerKind::delayed_ack && live().segment.length() == 0 && then > now;
    return apart(then, now) <= slack || (delayed && then.since(arrival()) < delayed_ack_max);
  }

  /// When the data arrived that the next ACK acknowledges.
  Instant arrival() const {
    Instant at;
    for (std::size_t i = 0; i < live().steps && i < script_.steps.size(); ++i) {
      const Step& step = script_.steps[i];
      bool const text = step.kind == Step::Kind::segment && step.segment.data_bytes() != 0;
      at = text ? step.at : at;
    }
    return at;
  }

  /// The same content at another time is a timing difference, unless one side sends it more often.
  std::optional<Divergence> elsewhen(bool captured_first) {
    std::size_t const of_captured = left_captured(live());
    std::size_t const of_live = left_live(captured());
    if (of_captured == of_live) {
      return timing();
    }
    return captured_first ? missing() : unexpected();
  }

  std::size_t left_captured(const LiveSent& like) const {
    return static_cast<std::size_t>(std::count_if(
        script_.sent.begin() + static_cast<std::ptrdiff_t>(captured_), script_.sent.end(),
        [&](const Sent& sent) { return same_content(script_, run_, sent, like); }));
  }
  std::size_t left_live(const Sent& like) const {
    return static_cast<std::size_t>(std::count_if(
        run_.sent.begin() + static_cast<std::ptrdiff_t>(live_), run_.sent.end(),
        [&](const LiveSent& sent) {
          return sent.captured_time() <= script_.end && same_content(script_, run_, like, sent);
        }));
  }

  /// Whether the core sends this captured segment later, and both sides send it equally often.
  bool sent_later() const { return equally_often(captured_index_of_live(captured())); }
  bool captured_later() const {
    std::size_t const found = live_index();
    return found < script_.sent.size() && left_captured(live()) == left_live(script_.sent[found]);
  }
  bool equally_often(std::size_t live_index) const {
    return live_index < run_.sent.size() &&
           left_captured(run_.sent[live_index]) == left_live(captured());
  }

  std::size_t captured_index_of_live(const Sent& like) const {
    auto const found =
        std::find_if(run_.sent.begin() + static_cast<std::ptrdiff_t>(live_), run_.sent.end(),
                     [&](const LiveSent& sent) { return same_content(script_, run_, like, sent); });
    return static_cast<std::size_t>(found - run_.sent.begin());
  }
  std::size_t live_index() const {
    auto const found = std::find_if(
        script_.sent.begin() + static_cast<std::ptrdiff_t>(captured_), script_.sent.end(),
        [&](const Sent& sent) { return same_content(script_, run_, sent, live()); });
    return static_cast<std::size_t>(found - script_.sent.begin());
  }

  bool in_this_instant_live() const {
    std::size_t const found = captured_index_of_live(captured());
    return found < run_.sent.size() && run_.sent[found].captured_time() == captured().at;
  }
  bool in_this_instant_captured() const {
    std::size_t const found = live_index();
    return found < script_.sent.size() && script_.sent[found].at == live().captured_time();
  }

  Divergence made(Divergence::Kind kind, const Clauses& clauses, std::string text) const {
    Divergence out;
    out.kind = kind;
    out.clause = chosen(clauses, shows_);
    out.text = std::move(text);
    if (captured_ < script_.sent.size()) {
      out.captured = captured_;
    }
    if (live_ < run_.sent.size()) {
      out.live = live_;
    }
    return out;
  }

  Divergence missing() const {
    Divergence out = made(Divergence::Kind::missing, attribution_.of_missing(captured()),
                          fmt::format("packet {} of the capture was not sent by the core",
                                      captured().segment.number));
    out.live.reset();
    return out;
  }
  Divergence unexpected() const {
    Divergence out = made(Divergence::Kind::unexpected, attribution_.of_unexpected(live()),
                          "the core sent what the capture has not");
    out.captured.reset();
    return out;
  }
  Divergence unexpected_before_match() const { return unexpected(); }

  Divergence differs() const {
    return made(Divergence::Kind::differs, attribution_.of_difference(captured(), live()),
                fmt::format("packet {} of the capture is not what the core sent in its place",
                            captured().segment.number));
  }
  Divergence timing() const {
    return made(Divergence::Kind::timing, attribution_.of_timing(captured(), live()),
                fmt::format("packet {} of the capture was sent by the core at another time",
                            captured().segment.number));
  }
  /// The captured segment is sent later by the core.
  Divergence timing_of_captured() {
    std::size_t const later = captured_index_of_live(captured());
    live_ = later;
    return timing();
  }
  /// The core's segment appears later in the capture.
  Divergence timing_of_live() {
    captured_ = live_index();
    return timing();
  }

  const Script& script_;
  const LiveRun& run_;
  Attribution attribution_;
  const std::vector<std::string>& shows_;
  std::size_t captured_ = 0, live_ = 0;
};

}  // namespace

bool same_content(const Script& script, const LiveRun& run, const Sent& captured,
                  const LiveSent& live) {
  const Segment& a = captured.segment;
  const Segment& b = live.segment;
  constexpr std::uint8_t counted = flag::fin | flag::syn | flag::rst | flag::ack | flag::urg;
  if (((a.flags ^ b.flags) & counted) != 0 || a.payload != b.payload) {
    return false;
  }
  bool const absolute = a.any(flag::rst) && a.sequence == 0 && b.sequence == 0;
  bool const another_life = a.any(flag::syn) && captured.incarnation != live.incarnation;
  std::uint32_t const sequence = run.as_captured(script, b.sequence, live.incarnation);
  if (another_life || (!absolute && a.sequence != sequence)) {
    return false;
  }
  if (a.any(flag::ack) && a.acknowledgment != b.acknowledgment) {
    return false;
  }
  if (a.any(flag::urg) && a.urgent != b.urgent) {
    return false;
  }
  if (mss_of(a) != mss_of(b)) {
    return false;
  }
  bool const offers = !a.any(flag::rst);
  return !offers || (a.window == 0) == (b.window == 0);
}

std::string_view name_of(Judgement judgement) {
  constexpr std::string_view names[] = {"agrees", "differs, allowed", "violates", "cannot tell",
                                        "core differs"};
  return names[static_cast<std::size_t>(judgement)];
}

Verdict compare_exactly(const Script& script, const LiveRun& run, const Config& config,
                        const std::vector<std::string>& shows) {
  return Walk(script, run, config, shows).run();
}

}  // namespace lockstep::conformance
