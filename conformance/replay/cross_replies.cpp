// Checks immediate replies, and window updates after the application has read.
#include <algorithm>
#include <array>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/cross.hpp"

namespace lockstep::conformance {
namespace {

namespace flag = tools::tcp_flag;

constexpr Duration prompt = Duration::milliseconds(50);
/// One reply may answer several segments only if they arrive within this time.
constexpr Duration together = Duration::milliseconds(10);
constexpr Duration update_max = Duration::milliseconds(500);
/// Some TCPs rate-limit their replies to unacceptable segments to one in this time.
constexpr Duration reply_limit = Duration::milliseconds(500);

bool is_bare_ack(const Item& item) {
  return item.segment.length() == 0 && item.segment.any(flag::ack) &&
         !item.segment.any(flag::rst | flag::syn);
}

class Replies {
 public:
  Replies(const AuditInput& input, const Trace& captured, const Trace& live, CrossResult& out)
      : in_(input), captured_(captured), live_(live), out_(out) {}

  void run() {
    for (std::size_t i = 0; i < in_.script.steps.size(); ++i) {
      const StepRecord& record = in_.run.steps[i];
      if (!record.done || record.skipped) {
        continue;
      }
      if (in_.script.steps[i].kind == Step::Kind::segment) {
        reply(i);
      } else if (in_.script.steps[i].kind == Step::Kind::call) {
        update(i);
      }
    }
  }

 private:
  static bool draws_reply(std::string_view clause) {
    constexpr std::array<std::string_view, 9> all{
        "7323:TS-17",           "9293:P-ACCEPT-REPLY", "9293:P-ZWP-REPLY",
        "9293:P-RST-CHALLENGE", "9293:P-SYN-INWIN",    "9293:P-TIMEWAIT-ACK",
        "9293:P-ACK-FUTURE",    "9293:P-ACK-5961",     "9293:P-SYNSENT-EST"};
    return std::find(all.begin(), all.end(), clause) != all.end();
  }
  static bool draws_silence(std::string_view clause) {
    constexpr std::array<std::string_view, 4> all{"9293:P-RST-OUT", "9293:P-ACK-OFF",
                                                  "9293:P-LISTEN-RST", "9293:P-CLOSED-RST"};
    return std::find(all.begin(), all.end(), clause) != all.end();
  }

  std::optional<std::size_t> live_reply(std::size_t step) const {
    auto item = std::partition_point(live_.begin(), live_.end(), [&](const Item& before) {
      return before.steps_before <= step;
    });
    for (; item != live_.end() && item->steps_before == step + 1; ++item) {
      if (is_bare_ack(*item) && !in_.run.sent[item->index].by_timer) {
        return item->index;
      }
    }
    return std::nullopt;
  }

  std::optional<std::size_t> captured_reply(std::size_t step) const {
    Instant const at = in_.script.steps[step].at;
    bool const lenient = in_.script.inferred;  // one ACK may reply to several steps
    Duration const limit = (lenient ? update_max : prompt) + in_.script.distance;
    std::optional<std::size_t> found;
    for (const Item& item : captured_) {
      bool const after = lenient ? item.at > at : item.steps_before > step;
      bool const soon = after && item.at <= at + limit;
      if (soon && !found && item.segment.any(flag::ack | flag::rst)) {
        found = item.index;
      }
    }
    // Replies to several steps may leave together, but each step needs its own.
    bool const own = found && in_.script.sent[*found].steps_before == step + 1;
    bool const fewer = count(captured_, at) < count(live_, at) ||
                       (found && in_.script.sent[*found].at > at + together);
    return found && (own || !fewer || lenient) ? found : std::nullopt;
  }

  static std::size_t count(const Trace& trace, Instant from) {
    return static_cast<std::size_t>(
        std::count_if(trace.begin(), trace.end(), [&](const Item& item) {
          return item.at >= from && item.at <= from + prompt && is_bare_ack(item);
        }));
  }

  void reply(std::size_t step) {
    Clauses const clauses = clauses_of_step(in_.script, in_.run, step, in_.config);
    if (clauses.empty() || (!draws_reply(clauses.front()) && !draws_silence(clauses.front()))) {
      return;
    }
    Instant const at = in_.script.steps[step].at;
    auto const live = live_reply(step);
    auto const captured = captured_reply(step);
    if (draws_reply(clauses.front()) && live && !captured) {
      bool const limited =
          in_.script.inferred && last_reply_ != Instant{} && at.since(last_reply_) < reply_limit;
      if (!limited) {
        out_.breaches.push_back({{at, clauses, "the capture has no reply", std::nullopt, false},
                                 Divergence::Kind::unexpected,
                                 std::nullopt,
                                 live});
      }
    }
    if (draws_silence(clauses.front()) && !live && captured) {
      const Sent& sent = in_.script.sent[*captured];
      bool const by_this = sent.steps_before == step + 1 && sent.segment.length() == 0;
      if (by_this) {
        out_.breaches.push_back(
            {{at, clauses, "the captured device replies to a segment that requires no reply",
              std::nullopt, false},
             Divergence::Kind::missing,
             captured,
             std::nullopt});
      }
    }
    last_reply_ = live && draws_reply(clauses.front()) ? at : last_reply_;
  }

  /// The step in which the peer uses the window: the update must have been sent before it.
  std::size_t next_data(std::size_t step) const {
    std::size_t next = step + 1;
    while (next < in_.script.steps.size() && (in_.script.steps[next].kind != Step::Kind::segment ||
                                              in_.script.steps[next].segment.data_bytes() <= 1)) {
      ++next;
    }
    return next;
  }

  /// The core sent a window update after a read: so must the captured device.
  void update(std::size_t step) {
    Act const act = in_.script.steps[step].act;
    auto const live = live_reply(step);
    if ((act != Act::consume && act != Act::resume) || !live || in_.script.inferred) {
      return;
    }
    std::uint32_t edge = 0;
    bool known = false;
    bool updated = false;
    Instant const at = in_.script.steps[step].at;
    std::size_t const sending = next_data(step);
    for (const Item& item : captured_) {
      if (!item.segment.any(flag::ack) || item.segment.any(flag::rst) ||
          item.steps_before > sending) {
        continue;
      }
      std::uint32_t const offer = item.segment.acknowledgment + item.window_bytes;
      if (item.steps_before <= step) {
        edge = !known || before(edge, offer) ? offer : edge;
        known = true;
      } else if (item.at <= at + update_max) {
        updated |= known && before(edge, offer);
      }
    }
    if (!updated) {
      out_.breaches.push_back(
          {{at, {"9293:P-SWS-RCV"}, "the capture has no window update", std::nullopt, false},
           Divergence::Kind::unexpected,
           std::nullopt,
           live});
    }
  }

  const AuditInput& in_;
  const Trace& captured_;
  const Trace& live_;
  CrossResult& out_;
  Instant last_reply_;
};

}  // namespace

void cross_replies(const AuditInput& input, const Trace& captured, const Trace& live,
                   CrossResult& out) {
  Replies(input, captured, live, out).run();
}

}  // namespace lockstep::conformance
