// Infers the application's calls from what the device of a capture sent.
#include <algorithm>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/script.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

/// A call and the step that it precedes.
struct Placed {
  std::size_t before_step = 0;
  Step step;
};

class Inference {
 public:
  Inference(const Flow& flow, Script& script)
      : script_(script), content_(stream_of(flow, script.device)) {}

  void run() {
    find_silence();
    if (script_.role == Role::passive) {
      place(0, Instant{}, Act::listen);
    }
    for (std::size_t i = 0; i < script_.sent.size(); ++i) {
      const Sent& sent = script_.sent[i];
      look_at_open(sent);
      look_at_data(i);
      look_at_end(sent);
      look_at_window(sent);
    }
    weave();
  }

 private:
  void place(std::size_t before_step, Instant at, Act act, std::uint32_t bytes = 0) {
    Placed placed;
    placed.before_step = before_step;
    placed.step.kind = Step::Kind::call;
    placed.step.at = at;
    placed.step.act = act;
    placed.step.bytes = bytes;
    placed.step.incarnation = opened_ ? 1u : 0u;
    calls_.push_back(std::move(placed));
  }

  /// Reading is inferred from the window only if the window fell below two segments after it had
  /// been larger.
  void find_silence() {
    std::uint32_t const floor = 2 * script_.device_mss.count;
    bool above = false;
    for (const Sent& sent : script_.sent) {
      bool const counts = sent.segment.any(flag::ack) && !sent.segment.any(flag::rst | flag::syn);
      above |= counts && sent.window_bytes >= floor;
      paced_ |= counts && above && sent.window_bytes < floor;
    }
    // The captured window exceeds 16 bits, which our window without scaling cannot represent.
    bool const beyond = std::any_of(script_.sent.begin(), script_.sent.end(), [](const Sent& sent) {
      return sent.window_bytes > 65'535 && !sent.segment.any(flag::rst);
    });
    if (paced_ && beyond && !script_.scaled) {
      paced_ = false;
      script_.notes.emplace_back("the application was taken to read at once");
    }
    if (paced_) {
      script_.notes.emplace_back("the application's reading was inferred from the window");
    }
  }

  void look_at_open(const Sent& sent) {
    if (opened_ || !sent.segment.any(flag::syn)) {
      return;
    }
    opened_ = true;
    isn_ = sent.segment.sequence;
    max_ = isn_ + 1;
    if (script_.role == Role::active) {
      place(sent.steps_before, sent.at, Act::open);
    }
  }

  /// A write is a run of new data up to a PSH, or to the end of data sent without waiting.
  void look_at_data(std::size_t index) {
    const Sent& sent = script_.sent[index];
    std::uint32_t const begin = sent.segment.sequence + (sent.segment.any(flag::syn) ? 1u : 0u);
    std::uint32_t const end = begin + sent.segment.data_bytes();
    if (!opened_ || sent.segment.data_bytes() == 0 || !before(max_, end)) {
      return;
    }
    // If the segment lies above a gap, the data before it was lost before the capture or comes
    // later.
    bool const whole = end - isn_ - 1 <= content_.size();
    if (before(max_, begin) && (script_.near || !script_.unaided || !whole)) {
      return;
    }
    std::uint32_t upto = end;
    std::uint32_t const full = std::min(script_.device_mss.count, script_.peer_mss.count) * 3 / 4;
    const Sent* last = &sent;
    for (std::size_t next = index + 1; next < script_.sent.size(); ++next) {
      const Segment& more = script_.sent[next].segment;
      bool const runs_on = !last->segment.any(flag::psh) && last->segment.data_bytes() >= full;
      if (!runs_on || more.sequence != upto || more.data_bytes() == 0) {
        break;
      }
      upto += more.data_bytes();
      last = &script_.sent[next];
    }
    // The pointer may name octets that were never sent.
    std::uint32_t const known = isn_ + 1 + static_cast<std::uint32_t>(content_.size());
    std::uint32_t const pointer = sent.segment.sequence + sent.segment.urgent;
    std::uint32_t const urgent_end = before(known, pointer) ? known : pointer;
    bool const urgent = sent.segment.any(flag::urg) && before(max_, urgent_end);
    if (urgent) {
      write(sent, urgent_end, Act::urgent);
    }
    if (before(max_, upto)) {
      write(sent, upto, Act::write);
      // Both calls precede the segment: urgent data, or data on the SYN.
      calls_.back().step.joined = urgent || sent.segment.any(flag::syn);
    }
  }

  void write(const Sent& sent, std::uint32_t upto, Act act) {
    std::uint32_t const offset = max_ - isn_ - 1;
    std::uint32_t const bytes = upto - max_;
    place(sent.steps_before, sent.at, act, bytes);
    auto& content = calls_.back().step.content;
    content.resize(bytes);
    for (std::uint32_t i = 0; i < bytes && offset + i < content_.size(); ++i) {
      content[i] = content_[offset + i];
    }
    max_ = upto;
  }

  void look_at_end(const Sent& sent) {
    if (sent.segment.sum == tools::SumState::bad) {
      return;  // the flags of a damaged segment are unknown
    }
    if (sent.segment.any(flag::rst)) {
      // A reset after the end, or in reply to a reset, comes from TCP, not from the application.
      if (opened_ && !ended_ && !peer_reset(sent.steps_before) && !finished_) {
        place(sent.steps_before, sent.at, Act::abort);
      }
      ended_ = true;
    } else if (sent.segment.any(flag::fin) && opened_ && !finished_) {
      place(sent.steps_before, sent.at, resets_later() ? Act::close : Act::finish);
      finished_ = true;
    }
  }

  bool peer_reset(std::size_t steps) const {
    return std::any_of(script_.steps.begin(),
                       script_.steps.begin() + static_cast<std::ptrdiff_t>(steps),
                       [](const Step& step) {
                         return step.kind == Step::Kind::segment && step.segment.any(flag::rst);
                       });
  }

  /// A FIN and later a reset: the application no longer reads (RFC 9293 3.6.1).
  bool resets_later() const {
    return std::any_of(script_.sent.begin(), script_.sent.end(),
                       [](const Sent& sent) { return sent.segment.any(flag::rst); });
  }

  void look_at_window(const Sent& sent) {
    bool const counts = sent.segment.any(flag::ack) && !sent.segment.any(flag::rst);
    if (!paced_ || !counts) {
      return;
    }
    std::uint32_t const edge = sent.segment.acknowledgment + sent.window_bytes;
    if (!edge_known_) {
      edge_known_ = true;
      edge_ = edge;
      place(sent.steps_before, sent.at, Act::hold);
    } else if (before(edge_, edge)) {
      place(sent.steps_before, sent.at, Act::consume, edge - edge_);
      edge_ = edge;
    }
  }

  void weave() {
    std::vector<Step> out;
    std::size_t next = 0;
    for (std::size_t i = 0; i <= script_.steps.size(); ++i) {
      for (; next < calls_.size() && calls_[next].before_step <= i; ++next) {
        if (i < script_.steps.size()) {
          calls_[next].step.at = earlier(calls_[next].step.at, script_.steps[i].at);
        }
        out.push_back(std::move(calls_[next].step));
      }
      if (i < script_.steps.size()) {
        out.push_back(std::move(script_.steps[i]));
      }
    }
    shift_counts();
    script_.steps = std::move(out);
  }

  /// The steps now include calls: adjusts the step counts of the device's segments.
  void shift_counts() {
    for (Sent& sent : script_.sent) {
      std::size_t calls = 0;
      for (const Placed& placed : calls_) {
        calls += placed.before_step <= sent.steps_before && placed.step.at <= sent.at ? 1u : 0u;
      }
      sent.steps_before += calls;
    }
  }

  Script& script_;
  std::vector<std::byte> content_;
  std::vector<Placed> calls_;
  bool opened_ = false, finished_ = false, ended_ = false, paced_ = false, edge_known_ = false;
  std::uint32_t isn_ = 0, max_ = 0, edge_ = 0;
};

}  // namespace

void infer_calls(const Flow& flow, Script& script) { Inference(flow, script).run(); }

}  // namespace lockstep::conformance
