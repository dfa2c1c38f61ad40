// Plays a script to the core: steps wait for their needs, and virtual time advances by deadlines.
#include "conformance/replay/live.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "conformance/replay/application.hpp"
#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"
#include "conformance/replay/packet.hpp"
#include "conformance/replay/played_numbers.hpp"
#include "conformance/replay/replay_port.hpp"
#include "core/stack/stack.hpp"
#include "core/stack/statistics.hpp"
#include "core/stack/turn.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

/// The bench that replays use from now on.
tools::BenchMaker bench_maker = nullptr;

static_assert(Application<ReplayApplication>);

class Player {
 public:
  Player(const Script& script, const Config& config, std::uint64_t turns_max)
      : script_(script),
        addresses_(played_addresses(script)),
        local_{addresses_.device, script.device.port},
        remote_{addresses_.peer, script.peer.port},
        arena_(Stack::arena_bytes(config)),
        stamp_tick_(config.tcp.timestamp_tick),
        stack_(config, arena_.span()),
        port_(std::max(config.mtu.count, 1500u), bench_maker),
        application_(local_, remote_),
        numbers_(script),
        effort_left_(turns_max != 0 ? turns_max : effort_max(script)) {
    application_.allow_fast_open(script.listens_fast, script.device_cookie.has_value());
    run_.steps.resize(script.steps.size());
    run_.stuck_step = script.steps.size();
  }

  LiveRun play() {
    turns(true);
    for (std::size_t i = 0; i < script_.steps.size() && !run_.is_stuck() && !run_.unsettled; ++i) {
      if (!run_.steps[i].done) {
        make(i);
      }
    }
    if (!run_.is_stuck() && !run_.unsettled) {
      advance(replay_origin + script_.end.since(Instant{}) + late_ + tail());
    }
    run_.isns = numbers_.isns();
    run_.last = view();
    run_.delivered = application_.delivered();
    run_.virtual_time = port_.now().since(replay_origin);
    run_.late = late_;
    return std::move(run_);
  }

 private:
  /// The largest number of turns of a play: a large multiple of what the capture requires.
  static std::uint64_t effort_max(const Script& script) {
    std::uint64_t octets = 0;
    for (const Step& step : script.steps) {
      octets += step.content.size() + step.segment.payload.size();
    }
    return 4'000 + 64 * (script.steps.size() + script.sent.size()) + octets / 16;
  }

  /// Counts a turn. Returns false once the play exceeds its limit.
  bool spend() {
    run_.unsettled = run_.unsettled || effort_left_ == 0;
    effort_left_ -= run_.unsettled ? 0 : 1;
    return !run_.unsettled;
  }

  /// How long to keep running for segments that another TCP's timers sent earlier.
  Duration tail() const {
    return script_.comparison == Comparison::exact ? Duration{} : Duration::seconds(5);
  }

  Instant due(const Step& step) const { return replay_origin + step.at.since(Instant{}) + late_; }

  void make(std::size_t index) {
    const Step& step = script_.steps[index];
    StepRecord& record = run_.steps[index];
    advance(due(step));
    for (const Need& need : step.needs) {
      if (need.kind == Need::Kind::triggered) {
        record.skipped |= !numbers_.met(step, need);
      } else if (!wait_for(step, need)) {
        run_.stuck_step = index;
        run_.stuck_need = need;
        return;
      }
    }
    // A need that is met later than in the capture delays all later steps by the same time.
    for (const Need& need : step.needs) {
      if (need.kind != Need::Kind::triggered && met_at_ > Instant{}) {
        delay_until(step, met_at_ + step.at.since(need.met));
      }
    }
    met_at_ = {};
    record.at = Instant{} + port_.now().since(replay_origin);
    record.before = view();
    if (!record.skipped) {
      perform(index, step, record);
    }
    record.done = true;
    record.after = view();
    record.refusal = application_.last_refusal();
    for (std::size_t next = index + 1; next < steps_; ++next) {
      run_.steps[next].after = record.after;
    }
  }

  void delay_until(const Step& step, Instant release) {
    if (release > due(step)) {
      late_ = late_ + release.since(due(step));
      advance(release);
    }
  }

  void perform(std::size_t index, const Step& step, StepRecord& record) {
    steps_ = index + 1;
    have_cookies(step);
    if (step.kind == Step::Kind::call) {
      application_.ask(step);
    } else {
      record.bytes = step.kind == Step::Kind::segment ? segment_bytes(step) : icmp_bytes(step);
      if (!record.bytes.empty()) {
        ++run_.packets_in;
        port_.arrive(record.bytes);
      }
    }
    DropCounters const before = stack_.statistics().drops;
    join_calls(index, record);
    turns(true);
    record.dropped = first_more(before);
  }

  /// The reason of the first drop since `before`.
  Drop first_more(const DropCounters& before) const {
    for (std::uint32_t i = 0; i < drop_count; ++i) {
      auto const drop = static_cast<Drop>(i);
      if (stack_.statistics().drops.of(drop) != before.of(drop)) {
        return drop;
      }
    }
    return Drop::none;
  }

  // --- State from before the capture: Fast Open cookies (RFC 7413) ---

  void have_cookies(const Step& step) {
    bool const shows = step.kind == Step::Kind::segment && step.segment.any(flag::syn) &&
                       !step.segment.any(flag::ack) && !step.segment.payload.empty();
    if (shows && script_.takes_text && script_.fast_open && cookie_of(step.segment)) {
      ask_for_cookie(step.segment);
    }
    bool const opens = step.kind == Step::Kind::call && step.act == Act::open;
    if (opens && script_.device_cookie && !script_.device_cookie->empty()) {
      give_cookie(*script_.device_cookie);
    }
  }

  /// The next port of the same host, distinct from the connection's.
  Endpoint beside(Endpoint side) const {
    side.port.value = static_cast<std::uint16_t>(side.port.value ^ 1u);
    return side;
  }

  /// Plays a packet that belongs to no step, if any, and returns what the core sends in reply.
  std::vector<Segment> aside(std::vector<std::byte> packet) {
    constexpr int turns_max = 100;
    if (!packet.empty()) {
      port_.arrive(std::move(packet));
    }
    for (int count = 0; count < turns_max; ++count) {
      if (turn(stack_, port_, application_) == Outcome::idle) {
        break;
      }
    }
    std::vector<Segment> out;
    for (const std::vector<std::byte>& left : port_.take()) {
      tools::CapturedFrame frame;
      frame.bytes = left;
      frame.original_bytes = static_cast<std::uint32_t>(left.size());
      out.push_back(tools::decode(frame, tools::LinkLayer::raw_ip).segment);
    }
    return out;
  }

  /// Gives the peer a cookie of the core, by an attempt that the peer abandons.
  void ask_for_cookie(const Segment& like) {
    Segment syn = like;
    syn.source = beside(remote_);
    syn.destination = local_;
    syn.payload.clear();
    syn.options = cookie_option({});
    for (const Segment& answer : aside(packet_of(syn))) {
      cookie_ = cookie_of(answer).value_or(cookie_);
    }
    syn.flags = flag::rst;
    syn.sequence += 1;
    syn.options.clear();
    static_cast<void>(aside(packet_of(syn)));
  }

  /// Gives the core this cookie of the peer, by a connection that is then reset.
  void give_cookie(const std::vector<std::byte>& cookie) {
    Open open;
    open.local = beside(local_);
    open.remote = remote_;
    open.fast_open = true;
    ConnectionId id;
    static_cast<void>(stack_.connect(open, id));
    Segment answer;
    answer.source = remote_;
    answer.destination = open.local;
    answer.flags = flag::syn | flag::ack;
    answer.window = 65'535;
    for (const Segment& sent : aside({})) {
      answer.acknowledgment = sent.sequence + 1;
    }
    auto const mss = script_.peer_mss.count;
    tools::put_word(answer.options, 0x0204);
    tools::put_word(answer.options, mss);
    auto const option = cookie_option(cookie);
    answer.options.insert(answer.options.end(), option.begin(), option.end());
    static_cast<void>(aside(packet_of(answer)));
    answer.options.clear();
    answer.flags = flag::rst;
    answer.sequence += 1;
    static_cast<void>(aside(packet_of(answer)));
  }

  /// Calls that the application makes before the reply leaves belong to the segment's own turn.
  void join_calls(std::size_t index, const StepRecord& record) {
    for (std::size_t next = index + 1; next < script_.steps.size(); ++next) {
      const Step& call = script_.steps[next];
      if (!call.joined) {
        return;
      }
      application_.ask(call);
      run_.steps[next] = record;
      run_.steps[next].done = true;
      steps_ = next + 1;
    }
  }

  std::vector<std::byte> segment_bytes(const Step& step) const {
    Segment segment = step.segment;
    segment.source = remote_;
    segment.destination = local_;
    if (segment.any(flag::ack)) {
      segment.acknowledgment = numbers_.as_played(segment.acknowledgment, step.incarnation);
    }
    if (script_.offered_stamps) {
      set_echo(segment, echo_of(step));
    }
    if (!cookie_.empty() && segment.any(flag::syn) && cookie_of(segment)) {
      set_cookie(segment, cookie_);
    }
    if (auto const blocks = blocks_of(segment); !blocks.empty()) {
      set_blocks(segment, numbers_.played_blocks(step, blocks));
    }
    return packet_of(segment);
  }

  std::uint32_t stamp_clock() const {
    return static_cast<std::uint32_t>(port_.now().ns / stamp_tick_.ns);
  }

  /// The timestamp that is now as old as the echoed one was in the capture, so that the replay has
  /// the capture's round-trip times. Zero if nothing known is echoed.
  std::uint32_t echo_of(const Step& step) const {
    if (!step.echo_age || !stamp_offset_) {
      return 0;
    }
    auto const age = static_cast<std::uint32_t>(step.echo_age->ns / stamp_tick_.ns);
    return stamp_clock() - age + *stamp_offset_;
  }

  std::vector<std::byte> icmp_bytes(const Step& step) const {
    tools::IcmpError error = step.icmp;
    bool const other = error.sender.is_v4() != addresses_.peer.is_v4();
    if (other || error.sender == script_.peer.address) {
      error.sender = addresses_.peer;
    }
    return packet_of(error, local_, remote_,
                     numbers_.as_played(error.quoted_sequence, step.incarnation));
  }

  // --- Needs ---

  /// Advances time until the need is met. Returns false if it never will be.
  bool wait_for(const Step& step, const Need& need) {
    constexpr int waits_max = 100'000;
    Instant const horizon = port_.now() + Duration::seconds(900);
    for (int count = 0; !numbers_.met(step, need); ++count) {
      if (need.kind == Need::Kind::sent && acknowledge_part(step)) {
        met_at_ = port_.now();
        continue;
      }
      Instant const deadline = stack_.deadline();
      if (run_.unsettled || deadline.is_never() || deadline > horizon || count == waits_max) {
        return false;
      }
      advance(later(deadline, port_.now()));
      met_at_ = port_.now();
    }
    return true;
  }

  /// The peer has received everything that the core sent, but the core may send no more until that
  /// is acknowledged, because its window differs from the captured device's. The peer acknowledges
  /// all that it has received.
  bool acknowledge_part(const Step& step) {
    bool const tried = part_tried_ && *part_tried_ == numbers_.highest();
    if (step.incarnation == 0 || !numbers_.knows(step.incarnation) || tried) {
      return false;  // the core did not process the ACK and will not do so later
    }
    Step part;
    part.segment.window = step.segment.window;
    part.segment.sequence = step.segment.sequence;
    part.at = step.at;
    part.segment.flags = flag::ack;
    part.segment.acknowledgment = numbers_.highest();
    part.incarnation = 0;
    if (application_.has_connection()) {
      ConnectionInfo const info = stack_.inspect(application_.id());
      bool const waits = info.exists && info.state >= tcp::State::established &&
                         before(info.send.una.value, numbers_.highest());
      if (!waits) {
        return false;
      }
      part.segment.sequence = info.receive.nxt.value;
      std::uint32_t const window = std::max(info.send.wnd.count, info.send.wnd_max.count);
      part.segment.window =
          static_cast<std::uint16_t>(std::min(65'535u, window >> script_.peer_shift));
    } else if (stack_.state_of({local_, remote_}) != tcp::State::syn_received) {
      return false;
    }
    part_tried_ = numbers_.highest();
    run_.isns = numbers_.isns();
    advance(port_.now() + script_.round_trip);
    std::uint32_t const seen = run_.as_captured(script_, numbers_.highest(), step.incarnation);
    std::uint32_t const window_bytes = std::uint32_t{part.segment.window} << script_.peer_shift;
    run_.part_acks.push_back({steps_, seen + window_bytes});
    port_.arrive(segment_bytes(part));
    turns(true);
    return true;
  }

  // --- Time ---

  /// Runs every deadline up to `until` and stops the clock there.
  void advance(Instant until) {
    constexpr int deadlines_max = 1'000'000;
    for (int count = 0; count < deadlines_max && !run_.unsettled; ++count) {
      Instant const deadline = stack_.deadline();
      if (deadline.is_never() || deadline > until) {
        break;
      }
      port_.set_now(later(deadline, port_.now()));
      turns(false);
    }
    port_.set_now(later(until, port_.now()));
  }

  void turns(bool by_step) {
    constexpr int turns_max = 10'000;
    for (int count = 0; count < turns_max && spend(); ++count) {
      auto const fired = stack_.statistics().tcp.timers_fired;
      Outcome const outcome = turn(stack_, port_, application_);
      note_sent(by_step, fired);
      if (run_.closed != application_.closed()) {
        run_.closed = application_.closed();
        run_.closed_at = Instant{} + port_.now().since(replay_origin + late_);
      }
      if (outcome == Outcome::idle) {
        return;
      }
    }
  }

  // --- The core's segments ---

  void note_sent(bool by_step, const std::array<std::uint64_t, tcp::timer_kind_count>& fired) {
    for (std::vector<std::byte>& packet : port_.take()) {
      tools::CapturedFrame frame;
      frame.bytes = packet;
      frame.original_bytes = static_cast<std::uint32_t>(packet.size());
      tools::Decoded decoded = tools::decode(frame, tools::LinkLayer::raw_ip);
      if (decoded.kind != tools::FrameKind::tcp) {
        continue;
      }
      LiveSent sent;
      sent.segment = std::move(decoded.segment);
      sent.bytes = std::move(packet);
      sent.at = Instant{} + port_.now().since(replay_origin);
      sent.late = late_;
      sent.steps = steps_;
      sent.by_timer = !by_step;
      for (std::size_t kind = 0; kind < fired.size(); ++kind) {
        if (stack_.statistics().tcp.timers_fired[kind] != fired[kind]) {
          sent.timer = static_cast<tcp::TimerKind>(kind);
        }
      }
      sent.window_bytes = sent.segment.window;
      if (!sent.segment.any(flag::syn)) {
        sent.window_bytes <<= script_.device_shift;
      }
      learn_from(sent.segment, sent.window_bytes);
      sent.incarnation = numbers_.incarnation();
      sent.view = view();
      run_.sent.push_back(std::move(sent));
    }
  }

  void learn_from(const Segment& segment, std::uint32_t window) {
    auto const stamps = stamps_of(segment);
    if (stamps && !stamp_offset_ && !segment.any(flag::rst)) {
      stamp_offset_ = stamps->value - stamp_clock();
    }
    numbers_.add(segment, window);
  }

  View view() const {
    View out;
    if (application_.has_connection()) {
      out.info = stack_.inspect(application_.id());
    }
    out.state = out.info.exists ? out.info.state : stack_.state_of({local_, remote_});
    if (out.state == tcp::State::closed && application_.is_listening()) {
      out.state = tcp::State::listen;
    }
    out.finish_called = application_.finish_called();
    out.close_called = application_.close_called();
    return out;
  }

  const Script& script_;
  PlayedAddresses addresses_;
  Endpoint local_, remote_;
  ReplayArena arena_;
  Duration stamp_tick_;
  std::vector<std::byte> cookie_;              ///< the core's cookie that the peer holds
  std::optional<std::uint32_t> stamp_offset_;  ///< the core's timestamps minus its clock's ticks
  Stack stack_;
  ReplayPort port_;
  ReplayApplication application_;
  LiveRun run_;
  PlayedNumbers numbers_;
  std::uint64_t effort_left_;
  Duration late_;
  Instant met_at_;
  std::size_t steps_ = 0;
  std::optional<std::uint32_t> part_tried_;  ///< the end of the last partial ACK
};

}  // namespace

void set_replay_bench(tools::BenchMaker maker) { bench_maker = maker; }

std::uint32_t LiveRun::as_captured(const Script& script, std::uint32_t number,
                                   std::uint32_t incarnation) const {
  if (incarnation == 0 || incarnation > isns.size() || incarnation > script.isns.size()) {
    return number;
  }
  return number - isns[incarnation - 1] + script.isns[incarnation - 1];
}

LiveRun play(const Script& script, const Config& config, std::uint64_t turns_max) {
  return Player(script, config, turns_max).play();
}

}  // namespace lockstep::conformance
