// Converts captured and live segments to one form and computes what had arrived after each step.
#include "conformance/replay/trace.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"

namespace lockstep::conformance {
namespace {

namespace flag = tools::tcp_flag;

/// The received octets, as ranges relative to the peer's initial sequence number.
class Arrivals {
 public:
  void begin(std::uint32_t isn) {
    isn_ = isn;
    next_ = 1;
    above_.clear();
    fin_.reset();
  }

  std::uint32_t next() const { return isn_ + static_cast<std::uint32_t>(next_); }
  bool has_gap() const { return !above_.empty(); }
  bool past_fin() const { return fin_ && next_ > *fin_; }

  /// Returns whether the data lies above a gap.
  bool take(std::uint32_t sequence, std::uint32_t bytes, bool fin) {
    auto const offset = static_cast<std::int32_t>(sequence - next());
    std::int64_t const begin = next_ + offset;
    std::int64_t const end = begin + bytes + (fin ? 1 : 0);
    if (fin) {
      fin_ = begin + bytes;
    }
    if (end <= next_) {
      return false;
    }
    above_[begin] = std::max(above_[begin], end);
    while (!above_.empty() && above_.begin()->first <= next_) {
      next_ = std::max(next_, above_.begin()->second);
      above_.erase(above_.begin());
    }
    return begin > next_;
  }

 private:
  std::uint32_t isn_ = 0;
  std::int64_t next_ = 1;
  std::map<std::int64_t, std::int64_t> above_;
  std::optional<std::int64_t> fin_;
};

}  // namespace

Trace captured_trace(const Script& script) {
  Trace out;
  for (std::size_t i = 0; i < script.sent.size(); ++i) {
    const Sent& sent = script.sent[i];
    out.push_back({sent.at, sent.segment, sent.window_bytes, sent.steps_before, false, i});
  }
  return out;
}

Trace live_trace(const Script& script, const LiveRun& run, Duration grace) {
  Trace out;
  for (std::size_t i = 0; i < run.sent.size(); ++i) {
    const LiveSent& sent = run.sent[i];
    if (sent.captured_time() > script.end + grace) {
      break;
    }
    bool const probe = sent.by_timer && sent.timer == tcp::TimerKind::persist;
    Item item{sent.captured_time(), sent.segment, sent.window_bytes, sent.steps, probe, i};
    bool const absolute = item.segment.any(flag::rst) && item.segment.sequence == 0;
    if (!absolute) {
      item.segment.sequence = run.as_captured(script, item.segment.sequence, sent.incarnation);
    }
    out.push_back(std::move(item));
  }
  return out;
}

std::vector<std::optional<Instant>> left_after(const Script& script, const Trace& trace) {
  std::map<std::uint32_t, Instant> stamped;  // when each timestamp of the peer was first recorded
  std::map<std::uint32_t, Instant> ended;    // ... and each end of its segments
  std::vector<std::optional<Instant>> out;
  std::size_t next = 0;
  for (const Item& item : trace) {
    for (; next < item.steps_before && next < script.steps.size(); ++next) {
      const Step& step = script.steps[next];
      auto const stamps = step.kind == Step::Kind::segment ? stamps_of(step.segment) : std::nullopt;
      if (stamps) {
        stamped.emplace(stamps->value, step.at);
      }
      if (step.kind == Step::Kind::segment && step.segment.length() != 0) {
        ended.emplace(step.segment.end(), step.at);
      }
    }
    bool const acks = item.segment.any(flag::ack) && !item.segment.any(flag::rst);
    auto const stamps = acks ? stamps_of(item.segment) : std::nullopt;
    auto const echoed = stamps ? stamped.find(stamps->echo) : stamped.end();
    auto const answered = acks ? ended.find(item.segment.acknowledgment) : ended.end();
    std::optional<Instant> heard;
    if (echoed != stamped.end()) {
      heard = echoed->second;
    }
    if (answered != ended.end()) {
      heard = later(heard.value_or(Instant{}), answered->second);
    }
    out.push_back(heard);
  }
  return out;
}

namespace {

/// Tracks TS.Recent from the peer's segments (RFC 7323, 5.3).
class Recent {
 public:
  bool refuses(const tools::Segment& segment) const {
    auto const stamps = stamps_of(segment);
    return known_ && stamps && !segment.any(flag::rst | flag::syn) &&
           before(stamps->value, recent_);
  }
  void take(const tools::Segment& segment, std::uint32_t next) {
    auto const stamps = stamps_of(segment);
    bool const begins = segment.any(flag::syn);
    bool const later = begins || !known_ || (stamps && !before(stamps->value, recent_));
    if (stamps && later && (begins || at_or_before(segment.sequence, next))) {
      recent_ = stamps->value;
      known_ = true;
    }
  }

 private:
  std::uint32_t recent_ = 0;
  bool known_ = false;
};

/// Tracks the rightmost window edge offered so far.
class Offers {
 public:
  void take(const tools::Segment& by, std::uint32_t window) {
    if (by.any(flag::ack) && !by.any(flag::rst)) {
      std::uint32_t const offer = by.acknowledgment + window;
      edge_ = !known_ || before(edge_, offer) ? offer : edge_;
      known_ = true;
    }
  }
  void forget() { known_ = false; }
  bool allow(std::uint32_t end) const { return !known_ || !before(edge_, end); }

 private:
  std::uint32_t edge_ = 0;
  bool known_ = false;
};

}  // namespace

Reception reception_of(const Script& script, const LiveRun& run) {
  Reception out;
  Arrivals arrivals;
  Reception::After now;
  Offers offers;
  Recent recent;
  std::size_t sent = 0;
  std::size_t live = 0;
  for (std::size_t i = 0; i < script.steps.size(); ++i) {
    const Step& step = script.steps[i];
    for (; sent < script.sent.size() && script.sent[sent].steps_before <= i; ++sent) {
      offers.take(script.sent[sent].segment, script.sent[sent].window_bytes);
    }
    for (; live < run.sent.size() && run.sent[live].steps <= i; ++live) {
      offers.take(run.sent[live].segment, run.sent[live].window_bytes);
    }
    now.advanced = now.above_gap = now.filled = false;
    bool const comes = step.kind == Step::Kind::segment && !step.segment.any(flag::rst) &&
                       step.segment.sum != tools::SumState::bad;
    now.refused = comes && script.stamped && recent.refuses(step.segment);
    bool const arrives = comes && !now.refused;
    if (arrives && step.segment.any(flag::syn) && (!now.known || arrivals.past_fin())) {
      arrivals.begin(step.segment.sequence);
      now.known = true;
      now.advanced = true;
      offers.forget();
    }
    bool const carries = arrives && now.known && step.segment.any(flag::ack | flag::syn) &&
                         !step.ignored_text &&
                         (step.segment.data_bytes() != 0 || step.segment.any(flag::fin));
    std::uint32_t const first = step.segment.sequence + (step.segment.any(flag::syn) ? 1u : 0u);
    bool const fits = offers.allow(first + step.segment.data_bytes());
    if (carries && fits) {
      bool const gap = arrivals.has_gap();
      std::uint32_t const was = arrivals.next();
      now.above_gap = arrivals.take(first, step.segment.data_bytes(), step.segment.any(flag::fin));
      now.advanced |= arrivals.next() != was;
      now.filled = gap && now.advanced;
    }
    if (arrives && script.stamped) {
      recent.take(step.segment, now.next);
    }
    now.next = arrivals.next();
    now.fin = arrivals.past_fin();
    out.after.push_back(now);
  }
  return out;
}

}  // namespace lockstep::conformance
