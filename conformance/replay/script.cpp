// Builds the script of a flow: removes options that the core does not support and finds what
// triggered each segment.
#include "conformance/replay/script.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "conformance/replay/capture_faults.hpp"
#include "conformance/replay/circle.hpp"
#include "conformance/replay/negotiation.hpp"
#include "conformance/replay/options.hpp"
#include "conformance/replay/outline.hpp"
#include "conformance/replay/transmissions.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

bool is_spoken(std::uint8_t kind) {
  switch (kind) {
    case 3:
      return spoken_by_core.window_scale;
    case 4:
    case 5:
      return spoken_by_core.selective;
    case 8:
      return spoken_by_core.timestamps;
    case option_kind::fast_open:
      return spoken_by_core.fast_open;
    default:
      return true;  // the core must handle unknown options
  }
}

/// The remaining options, padded to whole words.
std::vector<std::byte> reduced_options(const Segment& segment) {
  std::vector<std::byte> out;
  for (const tools::TcpOption& option : tools::options_of(segment)) {
    if (is_spoken(option.kind)) {
      tools::put_octet(out, option.kind);
      tools::put_octet(out, static_cast<std::uint32_t>(option.data.size()) + 2);
      out.insert(out.end(), option.data.begin(), option.data.end());
    }
  }
  while (out.size() % 4 != 0) {
    out.push_back(std::byte{1});
  }
  return out;
}

/// A receiver that updates its window only when half of it is free keeps more than this offered.
constexpr std::uint32_t unscaled_piece = 16'384;

/// Walks through a flow once and builds the script.
class Maker {
 public:
  Maker(const Flow& flow, const Flow& original, const Endpoint& device, const Scenario* scenario)
      : flow_(flow), original_(original), scenario_(scenario) {
    script_.device = device;
    script_.peer = flow.first == device ? flow.second : flow.first;
    script_.comparison = scenario != nullptr ? scenario->comparison : Comparison::obligations;
    bool const silent =
        scenario != nullptr && scenario->calls.empty() && scenario->role != Role::closed;
    script_.inferred =
        scenario == nullptr || (silent && script_.comparison == Comparison::obligations);
    script_.unaided = scenario == nullptr;
    script_.recorded_late = flow.recorded_late;
    script_.unfiltered = flow.unfiltered.at(flow.first == device ? 0 : 1);
    exact_ = script_.comparison == Comparison::exact;
    agreed_ = negotiation(flow, device);
    content_ = stream_of(original, device);
    script_.peer_stream = stream_of(flow, script_.peer, script_.unaided);
    start_ = original.segments.front().time;
    script_.device_mss = Bytes{agreed_.mss[0]};
    script_.peer_mss = Bytes{agreed_.mss[1]};
    script_.selective = agreed_.selective[0] && agreed_.selective[1];
    find_spoken(negotiation(original, device));
  }

  /// Determines which options stay in the peer's segments, and what the core's SYN must contain for
  /// that. `first`: the negotiation before any edit.
  void find_spoken(const Negotiated& first) {
    script_.marked = first.speaks_ecn();
    script_.stamped = first.stamps[0] && first.stamps[1];
    script_.multipath = first.multipath[0] && first.multipath[1];
    if (exact_) {
      return;
    }
    script_.offered_shift = spoken_by_core.window_scale ? agreed_.shift[0] : std::nullopt;
    script_.offered_stamps = spoken_by_core.timestamps && first.stamps[0];
    script_.offered_selective = spoken_by_core.selective && first.selective[0];
    script_.asks_ecn = first.ecn_asked[0];
    script_.refuses_ecn = first.ecn_asked[1] && !first.ecn_answered[0];
    script_.fast_open = spoken_by_core.fast_open && (first.cookie[0] || first.cookie[1]);
    script_.takes_text = first.text_taken[0];
    script_.listens_fast = script_.fast_open && (first.cookie_answered[0] || first.text_taken[0]);
    script_.device_cookie = first.cookie[0];
    script_.peer_stamps = agreed_.stamps[1];
    script_.peer_scale = agreed_.shift[1].has_value();
    script_.peer_selective = agreed_.selective[1];
    script_.scaled = spoken_by_core.window_scale && agreed_.scaled();
    script_.device_shift = script_.scaled ? agreed_.shift_of(0) : 0;
    script_.peer_shift = script_.scaled ? agreed_.shift_of(1) : 0;
  }

  Script make() {
    describe_what_is_taken_out();
    outline(flow_, agreed_, scenario_, script_);
    if (!script_.cannot_tell.empty()) {
      return std::move(script_);
    }
    find_missing_isn();
    std::size_t const unheard = scenario_ == nullptr ? unheard_syns() : 0;
    for (std::size_t i = unheard; i < flow_.segments.size(); ++i) {
      const Segment& segment = flow_.segments[i];
      add_calls_before(segment);
      add_errors_before(segment.time);
      if (is_from(segment, script_.device)) {
        add_sent(segment);
      } else {
        add_peer(segment);
      }
    }
    add_rest();
    // Checked last, so that the flow can be exported as a script in any case.
    if (script_.inferred) {
      script_.cannot_tell = capture_fault(flow_, script_.device, script_.unaided && script_.near);
    }
    return std::move(script_);
  }

 private:
  void describe_what_is_taken_out() {
    if (exact_) {
      return;
    }
    auto& notes = script_.notes;
    if (agreed_.scaled() && !script_.scaled) {
      notes.emplace_back("window scaling was taken out and windows rescaled");
    }
    if (script_.selective && !spoken_by_core.selective) {
      notes.emplace_back("SACK was taken out");
    }
    if (agreed_.stamps[0] && agreed_.stamps[1] && !script_.offered_stamps) {
      notes.emplace_back("timestamps were taken out");
    }
    if (agreed_.fast_open && !script_.fast_open) {
      notes.emplace_back("Fast Open was taken out");
    }
  }

  /// The number of SYNs at the start that the peer retransmitted before the device first replied.
  /// They were lost on the way to it, or arrived before it listened.
  std::size_t unheard_syns() {
    std::size_t count = 0;
    while (count + 1 < flow_.segments.size() && same_syn(count, count + 1)) {
      ++count;
    }
    if (count != 0) {
      script_.notes.push_back(fmt::format("SYNs without an answer, left out: {}", count));
    }
    return count;
  }

  bool same_syn(std::size_t a, std::size_t b) const {
    const Segment& first = flow_.segments[a];
    const Segment& again = flow_.segments[b];
    return !is_from(first, script_.device) && !is_from(again, script_.device) &&
           first.any(flag::syn) && again.any(flag::syn) && first.sequence == again.sequence;
  }

  /// If an edit removed the device's SYN, the peer's first ACK gives the initial sequence number.
  void find_missing_isn() {
    if (agreed_.syn[0] || script_.role != Role::passive) {
      return;
    }
    for (const Segment& segment : flow_.segments) {
      if (!is_from(segment, script_.device) && segment.has(flag::ack) && agreed_.syn[1] &&
          !segment.any(flag::rst)) {
        missing_isn_ = segment.acknowledgment - 1;
        return;
      }
    }
  }

  Instant relative(Instant time) const { return Instant{} + time.since(start_); }

  std::uint32_t incarnation() const { return static_cast<std::uint32_t>(script_.isns.size()); }

  void add_sent(const Segment& whole) {
    Segment segment = whole;
    if (!held_.payload.empty() && segment.has(flag::syn | flag::ack)) {
      segment.acknowledgment = held_.sequence + 1;  // as if the SYN carried no data
    }
    bool const other =
        segment.any(flag::syn) && (script_.isns.empty() || script_.isns.back() != segment.sequence);
    bool const fresh = other && (exact_ || script_.isns.empty() || may_begin_anew_);
    may_begin_anew_ = may_begin_anew_ && !segment.any(flag::syn);
    if (fresh || (missing_isn_ && script_.isns.empty())) {
      script_.isns.push_back(missing_isn_.value_or(segment.sequence));
      max_sent_ = segment.sequence;
      una_ = segment.sequence;
      sent_from_ = met_by_ = script_.sent.size();
      old_end_ = segment.sequence;
    }
    Sent out{segment, relative(segment.time), incarnation(), script_.steps.size(), segment.window};
    if (!segment.any(flag::syn)) {
      out.window_bytes <<= agreed_.shift_of(0);
    }
    if (before(max_sent_, segment.end())) {
      max_sent_ = segment.end();
    }
    if (segment.any(flag::ack) && !segment.any(flag::rst)) {
      std::uint32_t const edge = segment.acknowledgment + out.window_bytes;
      if (!edge_known_ || before(edge_, edge) || segment.any(flag::syn)) {
        edge_ = edge;
        edge_at_ = out.at;
        edge_known_ = true;
      }
      script_.receive_buffer = std::max(script_.receive_buffer, out.window_bytes);
    }
    if (auto const stamps = stamps_of(segment)) {
      stamped_at_.emplace(stamps->value, out.at);
    }
    carried_.add(segment.sequence, segment.length(), script_.sent.size());
    script_.sent.push_back(std::move(out));
  }

  void add_peer(const Segment& segment) {
    may_begin_anew_ |= segment.any(flag::syn | flag::rst | flag::fin);
    if (exact_) {
      push_peer(segment);
      return;
    }
    Segment reduced = segment;
    bool const syn = segment.any(flag::syn);
    if (syn && agreed_.fast_open && !script_.fast_open && !segment.payload.empty()) {
      held_ = reduced;
      reduced.payload.clear();
    } else if (segment.any(flag::ack) && !held_.payload.empty()) {
      send_held(reduced);
    }
    reduced.options = reduced_options(segment);
    std::uint64_t const window = std::uint64_t{segment.window} << (syn ? 0 : agreed_.shift_of(1));
    if (!script_.scaled) {
      reduced.window = static_cast<std::uint16_t>(std::min<std::uint64_t>(window, 65'535));
    }
    peer_window_ = window;
    bool const syn_ack_of_data = syn && segment.any(flag::ack) && !script_.isns.empty();
    if (syn_ack_of_data && !script_.fast_open) {
      reduced.acknowledgment = script_.isns.back() + 1;  // Fast Open data is retransmitted
    }
    std::uint32_t const stamps = agreed_.stamps[0] && agreed_.stamps[1] ? 12 : 0;
    // A tiny MSS would make a step of each octet.
    std::uint32_t const mss = std::max(agreed_.mss[0], 88u);
    std::uint32_t const piece = mss - stamps;
    // If windows exceeded 16 bits, a segment must fit into the reduced window.
    std::uint32_t const most =
        agreed_.scaled() && !script_.scaled ? std::min(mss, unscaled_piece) : mss;
    if (segment.payload.size() <= most) {
      push_peer(std::move(reduced));
      return;
    }
    split(std::move(reduced), std::min(piece, most));
  }

  /// Sends Fast Open data from a SYN after the handshake.
  void send_held(const Segment& like) {
    Segment data = like;
    data.sequence = held_.sequence + 1;
    data.payload = std::move(held_.payload);
    data.flags = flag::ack | flag::psh;
    data.options.clear();
    data.reserved = 0;
    held_ = {};
    push_peer(std::move(data));
  }

  /// Splits a super-segment into the original segments.
  void split(Segment whole, std::uint32_t piece) {
    if (splits_ == 0) {
      script_.notes.emplace_back("super-segments of the peer were split");
    }
    ++splits_;
    constexpr std::uint8_t last_only = flag::psh | flag::fin;
    std::vector<std::byte> const payload = std::exchange(whole.payload, {});
    for (std::size_t at = 0; at < payload.size(); at += piece) {
      std::size_t const size = std::min<std::size_t>(piece, payload.size() - at);
      Segment part = whole;
      auto const begin = payload.begin() + static_cast<std::ptrdiff_t>(at);
      part.payload = {begin, begin + static_cast<std::ptrdiff_t>(size)};
      part.sequence += static_cast<std::uint32_t>(at);
      if (at + size < payload.size()) {
        part.flags = static_cast<std::uint8_t>(part.flags & ~last_only);
      }
      push_peer(std::move(part));
    }
  }

  void push_peer(Segment segment) {
    Step step;
    step.kind = Step::Kind::segment;
    step.at = relative(segment.time);
    step.packet = segment.number;
    step.incarnation = incarnation();
    step.window_bytes = exact_ ? segment.window : peer_window_;
    step.played_window = script_.scaled ? peer_window_ : segment.window;
    step.echo_age = exact_ ? std::nullopt : age_of_echo(segment);
    step.ignored_text = script_.fast_open && segment.any(flag::syn) && !script_.takes_text;
    if (!exact_) {
      add_needs(segment, step);
    }
    step.segment = std::move(segment);
    script_.steps.push_back(std::move(step));
  }

  /// Of several segments with one timestamp, the first counts: its echo measures the round trip.
  std::optional<Duration> age_of_echo(const Segment& segment) const {
    auto const stamps = stamps_of(segment);
    if (!stamps || !segment.any(flag::ack) || stamps->echo == 0) {
      return std::nullopt;
    }
    auto const found = stamped_at_.find(stamps->echo);
    if (found == stamped_at_.end()) {
      return std::nullopt;
    }
    return segment.time.since(start_ + found->second.since(Instant{}));
  }

  void add_needs(const Segment& segment, Step& step) {
    bool const reads = segment.any(flag::ack) && !script_.isns.empty();
    if (reads && at_or_before(segment.acknowledgment, max_sent_)) {
      need_sent(segment, step);
    }
    if (segment.data_bytes() != 0 && edge_known_ && at_or_before(segment.end(), edge_)) {
      step.needs.push_back({Need::Kind::right_edge, segment.end(), 1, edge_at_});
    }
  }

  void need_sent(const Segment& segment, Step& step) {
    std::uint32_t const ack = segment.acknowledgment;
    bool const advances = before(una_, ack);
    Instant met;
    std::uint32_t times = 0;
    Instant last;
    Duration const half = script_.round_trip / 2;
    // Finds the first segment that reached the number, which may lie inside the segment or after
    // it.
    for (; met_by_ < script_.sent.size() && !at_or_before(ack, script_.sent[met_by_].segment.end());
         ++met_by_) {
    }
    std::size_t reached = met_by_;
    if (before(ack, una_)) {
      for (reached = sent_from_;
           reached < script_.sent.size() && !at_or_before(ack, script_.sent[reached].segment.end());
           ++reached) {
      }
    }
    if (reached < script_.sent.size()) {
      met = later(script_.sent[reached].at, Instant{1});
    }
    carried_.each(una_, [&](std::size_t index) {
      const Sent& sent = script_.sent[index];
      if (index >= sent_from_ && sent.at + half <= step.at) {
        ++times;
        last = later(last, sent.at);
      }
    });
    if (advances && times > 1) {
      step.needs.push_back({Need::Kind::transmitted, una_, times, last});
    }
    step.needs.push_back({Need::Kind::sent, ack, 1, met});
    bool const duplicate =
        !advances && ack == una_ && segment.length() == 0 && before(ack, max_sent_);
    if (duplicate) {
      need_trigger(segment, step);
    }
    if (advances) {
      una_ = ack;
    }
  }

  /// A duplicate ACK answers a segment sent at least one round trip earlier.
  void need_trigger(const Segment& segment, Step& step) {
    auto const blocks = blocks_of(segment);
    if (reports_duplicate(segment.acknowledgment, blocks)) {
      std::uint32_t const twice = blocks.front().left;
      step.needs.push_back({Need::Kind::triggered, twice, 2, Instant{}});
      return;
    }
    if (!blocks.empty()) {
      std::uint32_t reported = una_;
      for (const Block& block : blocks) {
        reported = before(reported, block.right) ? block.right : reported;
      }
      step.needs.push_back({Need::Kind::triggered, reported, 1, Instant{}});
      return;
    }
    old_from_ = std::max(old_from_, sent_from_);
    for (; old_from_ < script_.sent.size(); ++old_from_) {
      const Sent& sent = script_.sent[old_from_];
      if (sent.at + script_.round_trip > step.at) {
        break;
      }
      if (before(old_end_, sent.segment.end())) {
        old_end_ = sent.segment.end();
        old_at_ = sent.at;
      }
    }
    std::uint32_t const highest = before(una_, old_end_) ? old_end_ : una_;
    Instant const met = old_at_;
    if (highest != una_) {
      step.needs.push_back({Need::Kind::triggered, highest, 1, met});
    }
  }

  void add_calls_before(const Segment& segment) {
    if (script_.inferred || scenario_ == nullptr) {
      return;
    }
    while (next_call_ < scenario_->calls.size()) {
      const PlannedCall& call = scenario_->calls[next_call_];
      bool const due =
          call.at ? *call.at <= segment.time.since(start_) : *call.after_packet < segment.number;
      if (!due) {
        return;
      }
      push_call(call);
    }
  }

  void push_call(const PlannedCall& call) {
    Step step;
    step.kind = Step::Kind::call;
    step.act = call.act;
    step.bytes = call.bytes;
    step.incarnation = incarnation();
    step.at = call.at ? Instant{} + *call.at : time_of_packet(*call.after_packet);
    if (!script_.steps.empty()) {
      const Step& last = script_.steps.back();
      step.at = later(step.at, last.at);
      bool const after_packet =
          last.kind == Step::Kind::segment && call.after_packet.value_or(0) == last.packet;
      bool const after_call = last.kind == Step::Kind::call;
      step.joined = (after_packet || after_call) && step.at == last.at;
    }
    if (call.act == Act::write || call.act == Act::urgent) {
      step.content.resize(call.bytes);
      std::size_t const have =
          std::min<std::size_t>(call.bytes, content_.size() - std::min(content_.size(), written_));
      std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(written_), have,
                  step.content.begin());
      written_ += call.bytes;
    }
    script_.steps.push_back(std::move(step));
    ++next_call_;
  }

  Instant time_of_packet(std::uint64_t number) const {
    Instant out;
    for (const Segment& segment : original_.segments) {
      if (segment.number <= number) {
        out = later(out, relative(segment.time));
      }
    }
    return out;
  }

  void add_errors_before(Instant time) {
    while (next_error_ < flow_.errors.size() && flow_.errors[next_error_].time <= time) {
      const tools::IcmpError& error = flow_.errors[next_error_++];
      if (error.quoted_source != script_.device) {
        continue;
      }
      Step step;
      step.kind = Step::Kind::icmp;
      step.at = relative(error.time);
      step.packet = error.number;
      step.icmp = error;
      step.incarnation = incarnation();
      script_.steps.push_back(std::move(step));
    }
  }

  void add_rest() {
    add_errors_before(Instant::never());
    while (!script_.inferred && scenario_ != nullptr && next_call_ < scenario_->calls.size()) {
      push_call(scenario_->calls[next_call_]);
    }
    script_.end =
        later(relative(original_.segments.back().time), relative(flow_.segments.back().time));
    for (const Step& step : script_.steps) {
      script_.end = later(script_.end, step.at);
    }
    if (script_.inferred) {
      look_from_the_device();
      infer_calls(flow_, script_);
    }
  }

  /// A capture point far from the device shows the peer's segments before they reach the device.
  void look_from_the_device() {
    if (script_.distance <= Duration::milliseconds(1)) {
      return;
    }
    for (Sent& sent : script_.sent) {
      auto const unseen = [&](const Step& step) { return step.at + script_.distance > sent.at; };
      while (sent.steps_before > 0 && unseen(script_.steps[sent.steps_before - 1])) {
        --sent.steps_before;
      }
    }
    script_.away_from_device = true;
    script_.notes.emplace_back("the capture point is not at the device");
  }

  const Flow& flow_;
  const Flow& original_;
  const Scenario* scenario_;
  Script script_;
  Negotiated agreed_;
  std::vector<std::byte> content_;
  bool exact_ = true;
  Instant start_;
  std::optional<std::uint32_t> missing_isn_;
  Segment held_;  ///< a SYN whose data is delivered later
  std::uint64_t peer_window_ = 0;
  std::uint32_t max_sent_ = 0, una_ = 0, edge_ = 0;
  Instant edge_at_;
  bool edge_known_ = false, may_begin_anew_ = false;
  std::size_t sent_from_ = 0;
  std::size_t met_by_ = 0;    ///< the first segment whose end is not below una_
  std::size_t old_from_ = 0;  ///< segments before this index were sent more than a round trip ago
  std::uint32_t old_end_ = 0;
  Instant old_at_;  ///< when the segments up to old_end_ were sent
  Transmissions carried_;
  std::map<std::uint32_t, Instant> stamped_at_;  ///< when each timestamp was first sent
  std::size_t next_call_ = 0, next_error_ = 0, written_ = 0, splits_ = 0;
};

}  // namespace

Script make_script(const Flow& flow, const Flow& original, const Endpoint& device,
                   const Scenario* scenario) {
  return Maker(flow, original, device, scenario).make();
}

}  // namespace lockstep::conformance
