// Runs a script on a stack in virtual time and reports the first deviation.
#include "conformance/script/run.hpp"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "conformance/devices/peer.hpp"
#include "conformance/script/assertion.hpp"
#include "conformance/script/calls.hpp"
#include "conformance/script/constants.hpp"
#include "conformance/script/early_acks.hpp"
#include "conformance/script/packet.hpp"
#include "conformance/script/sysctl.hpp"
#include "conformance/script/witness.hpp"
#include "tools/base/capture/pcapng_writer.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr Duration patience = Duration::seconds(7200);  // for an event without a time of its own
constexpr Duration look_ahead = Duration::seconds(300);
constexpr std::uint16_t remote_port = 41234;
constexpr std::uint32_t steps_max = 1'000'000;
constexpr std::uint16_t flag_psh = 0x08;

/// Seconds since the start of the script.
std::string time_text(Instant at) {
  std::uint64_t const ns = at.since(World::origin).ns;
  std::string out = fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
  while (out.ends_with("000")) {
    out.resize(out.size() - 3);
  }
  return out.ends_with('.') ? out + "0" : out;
}

/// The position in the script that this thread runs.
struct Standing {
  const Script* script = nullptr;
  Place place;
};
thread_local Standing standing;

/// Thrown when a run ends with a finding.
struct Stop {};

class Runner {
 public:
  Runner(const Script& script, const Overrides& overrides, Arena& arena, Ran& out)
      : script_(script),
        plan_(plan_of(script, overrides)),
        strict_(script.head.strict_segments.value_or(false) || overrides.strict_segments),
        trailing_(script.head.allow_trailing.value_or(false) || overrides.allow_trailing),
        keeps_(overrides.keep_capture),
        cut_(overrides.cut),
        world_owner_(world_of(plan_, overrides, arena)),
        world_(*world_owner_),
        flows_({plan_.local, Port{script.head.bind_port}}, {plan_.remote, Port{remote_port}}),
        caller_(script, plan_, world_, flows_),
        out_(out) {
    if (overrides.referee) {
      witness_.emplace(plan_, world_.is_ours());
      before_referee_ = overrides.before_referee;
    }
    for (std::size_t i = plan_.first_event; i < script.events.size(); ++i) {
      if (script.events[i].kind == Event::Kind::code) {
        code_.emplace(i, parse_code(script, script.events[i]));
      }
    }
  }

  void run() {
    try {
      for (at_ = plan_.first_event; at_ < script_.events.size(); ++at_) {
        standing = {&script_, script_.events[at_].place};
        step(script_.events[at_]);
        ++out_.events;
      }
      finish();
      fail_on_violation();
      out_.state = state_text();
      if (keeps_) {
        save_capture();
      }
    } catch (const Stop&) {
      failed();
    } catch (const DeviceFault& fault) {
      out_.finding = {current(), fault.what(), {}, {}, "unknown"};
      keep_finding();
      failed();
    } catch (const LeftOut& reason) {
      out_.verdict = Verdict::left_out;
      out_.reason = reason.what();
    }
    out_.virtual_ns = world_.now().since(World::origin).ns;
  }
  ~Runner() { standing = {}; }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

 private:
  struct Waiting {
    const Event* event = nullptr;
    Instant began, due;
  };
  struct Captured {
    Instant at;
    std::vector<std::byte> bytes;
    std::string comment;
    Place place;
    std::uint64_t number = 0;  ///< its number in the witness; 0: not shown
  };

  [[noreturn]] void fail(Finding finding) {
    finding.state = finding.state.empty() ? state_text() : finding.state;
    out_.finding = std::move(finding);
    keep_finding();
    throw Stop{};
  }
  /// Without rows: the words say it all.
  [[noreturn]] void fail_at(Place place, const std::string& what) {
    fail({place, what, {}, {}, {}});
  }
  void keep_finding() {
    std::size_t const line = static_cast<std::size_t>(out_.finding.place.line) - 1;
    out_.line = line < script_.lines.size() ? script_.lines[line] : "";
    save_capture();
  }
  void failed() {
    out_.verdict = Verdict::failed;
    out_.exit_code = static_cast<int>(tools::ExitCode::finding);
  }

  void save_capture() {
    tools::PcapngWriter writer;
    for (Sent const& sent : world_.sent) {
      keep(sent, "sent, and not expected so far");
    }
    for (Captured const& one : captured_) {
      writer.add(one.at, one.bytes, one.comment);
    }
    out_.capture = writer.bytes();
  }

  std::string state_text() {
    Flow const& flow = flows_.now();
    auto const state = world_.state_of(flow.local, flow.remote);
    std::string out(state ? tcp::name_of(*state) : "unknown");
    auto const known = world_.info_of(caller_.subject());
    if (!known) {
      return out;
    }
    lockstep_tcp_info const& info = *known;
    return out + fmt::format(
                     ": cwnd {} x {}, unacked {}, sacked {}, lost {}, notsent {}, snd_wnd "
                     "{}, rcv_wnd {}, rto {} us, srtt {} us, retransmits {}",
                     info.tcpi_snd_cwnd, info.tcpi_snd_mss, info.tcpi_unacked, info.tcpi_sacked,
                     info.tcpi_lost, info.tcpi_notsent_bytes, info.tcpi_snd_wnd, info.tcpi_rcv_wnd,
                     info.tcpi_rto, info.tcpi_rtt, info.tcpi_retransmits);
  }

  std::string text_of(const Sent& sent) const {
    Live const live = read_live(sent.bytes);
    return live_text(live, flows_.of(live.source, live.destination));
  }

  /// The connection that the packet belongs to.
  Flow& flow_of(const Packet& packet) {
    if (flows_.select(packet)) {
      caller_.refer_to(flows_.now());
    }
    return flows_.now();
  }

  void keep(const Sent& sent, std::string comment) {
    captured_.push_back({sent.at, sent.bytes, std::move(comment), current(), 0});
  }
  /// Removes the oldest sent packet that was not matched yet.
  void take_front(const Event& event) {
    show_sent();
    keep(world_.sent.front(), where(event));
    forget_number();
    world_.sent.pop_front();
    ++out_.packets_out;
  }
  void forget_number() {
    if (!numbers_.empty()) {
      captured_.back().number = numbers_.front();
      numbers_.pop_front();
    }
  }
  std::string where(const Event& event) const {
    return fmt::format("{}:{}", script_.file, event.place.line);
  }

  // ---- time ----

  void settle() {
    if (!world_.settle()) {
      fail({current(), "the stack did not settle at " + time_text(world_.now()), {}, {}, {}});
    }
    try_waiting();
  }

  Place current() const {
    std::size_t const at = std::min(at_, script_.events.size() - 1);
    return script_.events[at].place;
  }

  /// A device does not say when a call that waits may return: one looks when it should.
  Instant next_look() const {
    if (world_.is_ours() || !waiting_) {
      return Instant::never();
    }
    Instant const due = waiting_->due;
    Instant const last = due + tolerance_at(due);
    return due > world_.now() ? due : last > world_.now() ? last : Instant::never();
  }

  /// Performs everything up to and including `until`, while more() is true.
  template <class More>
  void pass(Instant until, More more) {
    settle();
    for (std::uint32_t i = 0; i < steps_max && more(); ++i) {
      Instant const stop = earlier(until, next_look());
      if (!world_.advance(stop) && stop >= until) {
        return;
      }
      settle();
    }
  }

  void go_to(Instant at) {
    pass(at, [] { return true; });
    world_.go_to(at);
    settle();
    fail_on_extra(at);
  }

  /// The tolerance of an event at this instant.
  Duration tolerance_at(Instant at) const {
    std::uint64_t const passed = at > base_ ? at.since(base_).ns : 0;
    std::uint64_t const part = passed / 1'000'000 * script_.head.tolerance_ppm +
                               passed % 1'000'000 * script_.head.tolerance_ppm / 1'000'000;
    return Duration{std::max(script_.head.tolerance_ns, part)} + world_.tolerance(Duration{passed});
  }

  Instant begin_of(const Event& event) const {
    Instant const from = event.when.relative ? base_ : World::origin;
    return from + Duration{event.when.begin};
  }

  /// Advances the clock to the time of an event of the script.
  void wait_for(const Event& event) {
    Instant const begin = begin_of(event);
    Duration const tolerance = tolerance_at(begin);
    if (begin + tolerance < world_.now()) {
      fail_at(event.place, fmt::format("it is already {}; this should happen at {}",
                                       time_text(world_.now()), time_text(begin)));
    }
    go_to(later(begin, world_.now()));
    base_ = begin;
  }

  // ---- packets ----

  /// Fails on a packet sent before `now` that no event of the script can match any more.
  void fail_on_extra(Instant now) {
    if (world_.sent.empty()) {
      return;
    }
    take_early_acks();
    if (world_.sent.empty()) {
      return;
    }
    Sent const& first = world_.sent.front();
    if (first.at + tolerance_at(now) < now && !is_expected_later()) {
      fail_extra(first);
    }
  }

  // ---- ACKs of a device that come early ----

  bool is_early_ack() const {
    return !world_.is_ours() && !world_.sent.empty() &&
           early_.is_early(read_live(world_.sent.front().bytes));
  }
  void take_early_acks() {
    while (is_early_ack()) {
      early_.take(read_live(world_.sent.front().bytes));
      show_sent();
      keep(world_.sent.front(), "an ACK that comes sooner than the script expects");
      forget_number();
      world_.sent.pop_front();
      ++out_.packets_out;
    }
  }
  /// Takes early ACKs until something else has been sent, or nothing by `last`. True: the expected
  /// packet was one of them.
  bool pass_early_acks(const Event& event, Instant first, Instant last) {
    for (;;) {
      pass(last, [this] { return world_.sent.empty(); });
      bool const awaited = !world_.sent.empty() && EarlyAcks::is_alone(event.packet) &&
                           world_.sent.front().at >= first &&
                           read_live(world_.sent.front().bytes).ack == event.packet.tcp.ack;
      if (awaited || !is_early_ack()) {
        bool const came = early_.came(event.packet, flow_of(event.packet).remote.port);
        return !world_.is_ours() && !awaited && came;
      }
      take_early_acks();
    }
  }

  /// Whether the next packet that the script expects has an open time.
  bool is_expected_later() const {
    for (std::size_t i = at_; i < script_.events.size(); ++i) {
      Event const& event = script_.events[i];
      if (event.kind == Event::Kind::packet && event.packet.direction == Direction::out) {
        return event.when.any || event.when.end != event.when.begin;
      }
    }
    return trailing_;
  }

  [[noreturn]] void fail_extra(const Sent& sent) {
    Finding finding;
    finding.place = current();
    finding.what =
        fmt::format("a packet that the script does not expect was sent at {}", time_text(sent.at));
    std::string const text = text_of(sent);
    finding.rows.push_back({"packet", "none", text, true});
    fail(std::move(finding));
  }

  void arrive(const Event& event) {
    wait_for(event);
    Packet const& packet = event.packet;
    Flow& flow = flow_of(packet);
    bool const opens = !packet.is_icmp && (packet.tcp.flags & 0x12) == 0x02;
    if (opens) {
      tcp::State const state =
          world_.state_of(flow.local, flow.remote).value_or(tcp::State::closed);
      bool const fresh = state == tcp::State::closed || state == tcp::State::listen ||
                         state == tcp::State::time_wait;
      flow.opening = flow.opening || fresh;
      if (state == tcp::State::closed || state == tcp::State::listen) {
        flow.shift = 0;  // a reset without a connection has the script's own numbers
      }
      flow.local_known = flow.local_known || fresh;
    }
    auto bytes = build(packet, flow);
    captured_.push_back({world_.now(), bytes, where(event), event.place, 0});
    ++out_.packets_in;
    show_sent();
    if (witness_) {
      captured_.back().number = ++shown_;
      witness_->came(world_.now(), bytes);
    }
    world_.inject(std::move(bytes));
    settle();
  }

  [[noreturn]] void fail_missing(const Event& event, Instant last) {
    Finding finding;
    finding.place = event.place;
    finding.what = fmt::format("no packet was sent by {}", time_text(last));
    finding.rows.push_back({"packet", packet_text(event.packet), "none", true});
    finding.state = state_text();
    waiting_.reset();
    pass(last + look_ahead, [this] { return world_.sent.empty(); });
    finding.next = world_.sent.empty() ? "nothing is sent in the following 300 seconds either"
                                       : fmt::format("the next one is sent at {}: {}",
                                                     time_text(world_.sent.front().at),
                                                     text_of(world_.sent.front()));
    fail(std::move(finding));
  }

  /// Takes the packets that together can match the expected one.
  Live take(const Event& event, Instant first, Instant last) {
    Live whole = read_live(world_.sent.front().bytes);
    take_front(event);
    std::uint32_t const wanted = event.packet.tcp.sequence.length;
    std::uint32_t const segment = whole.length;
    while (!strict_ && !event.packet.is_icmp && whole.readable && !whole.is_icmp &&
           whole.length != 0 && whole.length < wanted && !world_.sent.empty()) {
      Sent const& next = world_.sent.front();
      bool const in_time = next.at >= first && next.at <= last;
      bool const full = whole.length % segment == 0;
      if (!world_.is_ours()) {
        whole.flags &= static_cast<std::uint16_t>(~flag_psh);  // as in allow_choices()
      }
      if (!in_time || !full || !join(whole, read_live(next.bytes), segment)) {
        break;
      }
      take_front(event);
    }
    return whole;
  }

  void expect(const Event& event) {
    Instant const from = event.when.relative ? base_ : World::origin;
    Instant const begin = from + Duration{event.when.begin};
    Instant const end = from + Duration{event.when.end};
    bool const any = event.when.any;
    Duration const tolerance = tolerance_at(end);
    Instant const first = any ? World::origin : begin - tolerance;
    Instant const last = any ? world_.now() + patience : end + tolerance;
    if (pass_early_acks(event, first, last)) {
      go_to(later(any ? world_.now() : begin, world_.now()));
      base_ = any ? world_.now() : begin;
      return;
    }
    if (world_.sent.empty()) {
      fail_missing(event, last);
    }
    Instant const at = world_.sent.front().at;
    Live const live = take(event, first, last);
    early_.note(live);
    Flow& flow = flow_of(event.packet);
    learn(event.packet, live, flow);
    std::vector<Row> rows = compare(event.packet, live, flow, script_.head.stamp_tick_ns != 0);
    if (!world_.is_ours()) {
      allow_choices(rows);
    }
    bool const in_time = at >= first && at <= last;
    std::string const wanted = any            ? "*"
                               : begin == end ? time_text(begin)
                                              : time_text(begin) + "~" + time_text(end);
    rows.insert(rows.begin(), Row{"time", wanted, time_text(at), !in_time});
    rows.front().actual = any && in_time ? "*" : rows.front().actual;
    if (differ(rows)) {
      Finding finding;
      finding.place = event.place;
      finding.what = "the packet sent is not the one expected";
      finding.rows = std::move(rows);
      finding.next = "it is: " + live_text(live, flow);
      fail(std::move(finding));
    }
    bool const fixed = !any && begin == end;
    base_ = fixed ? begin : at;
    world_.go_to(at);
  }

  // ---- the referee ----

  /// Shows the packets sent since the last call to the witness.
  void show_sent() {
    if (!witness_) {
      return;
    }
    while (numbers_.size() < world_.sent.size()) {
      Sent const& sent = world_.sent[numbers_.size()];
      numbers_.push_back(++shown_);
      if (before_referee_ == nullptr) {
        witness_->left(sent.at, sent.bytes);
      } else {
        std::vector<std::byte> changed = sent.bytes;
        before_referee_(changed);
        witness_->left(sent.at, changed);
      }
    }
  }

  /// The script passed; fails if the referee found that a packet we sent violates an RFC.
  void fail_on_violation() {
    show_sent();
    auto const broken = witness_ ? witness_->verdict() : std::nullopt;
    if (!broken) {
      return;
    }
    // Finds it in the capture; packets that no event expected come last.
    for (std::size_t i = 0; i < world_.sent.size(); ++i) {
      keep(world_.sent[i], "sent, and not expected so far");
      captured_.back().number = numbers_[i];
    }
    world_.sent.clear();
    std::size_t at = 0;
    while (captured_[at].number != broken->packet) {
      ++at;
    }
    std::string const numbers = broken->expected.empty() || broken->found.empty()
                                    ? broken->expected + broken->found
                                    : broken->expected + ", " + broken->found;
    Finding finding;
    finding.place = captured_[at].place;
    finding.what = fmt::format("packet {}, sent at {}, breaks {}{}", at + 1, time_text(broken->at),
                               broken->clause, numbers.empty() ? "" : " (" + numbers + ")");
    finding.rows.push_back({std::string(broken->rule),
                            broken->expected.empty() ? "kept" : broken->expected,
                            broken->found.empty() ? "broken" : broken->found, true});
    fail(std::move(finding));
  }

  // ---- calls ----

  void judge(const Event& event, const Given& given) {
    Call const& call = event.call;
    const auto text = [](std::int64_t result, int error) {
      return result == -1 && error != 0 ? fmt::format("-1 {}", error_name(error))
                                        : fmt::format("{}", result);
    };
    bool const wrong_result = call.result && *call.result != given.result;
    bool const wrong_error =
        call.result && *call.result == -1 && call.error != 0 && call.error != given.error;
    if (wrong_result || wrong_error) {
      Finding finding;
      finding.place = event.place;
      finding.what = fmt::format("{} returned another result", call.name);
      finding.rows.push_back(
          {"result", text(*call.result, call.error), text(given.result, given.error), true});
      fail(std::move(finding));
    }
    if (!given.wrong.empty()) {
      fail({event.place, fmt::format("{}: {}", call.name, given.wrong), {}, {}, {}});
    }
  }

  void carry_out(const Event& event) {
    wait_for(event);
    if (waiting_) {
      fail_at(event.place, fmt::format("{} of line {} has not returned yet",
                                       waiting_->event->call.name, waiting_->event->place.line));
    }
    bool const blocking = event.when.returns_at.has_value();
    Given const given = caller_.begin(event.call, event.place, blocking);
    if (blocking) {
      Instant const due = base_ + Duration{*event.when.returns_at - event.when.begin};
      waiting_ = Waiting{&event, world_.now(), due};
      if (!given.waits) {
        returned(given);
      }
    } else {
      judge(event, given);
    }
    settle();
  }

  void returned(const Given& given) {
    Waiting const waiting = *waiting_;
    waiting_.reset();
    Instant const now = world_.now();
    Duration const tolerance = tolerance_at(waiting.due);
    if (now + tolerance < waiting.due || waiting.due + tolerance < now) {
      Finding finding;
      finding.place = waiting.event->place;
      finding.what = fmt::format("{} returned at another time", waiting.event->call.name);
      finding.rows.push_back({"time", time_text(waiting.due), time_text(now), true});
      fail(std::move(finding));
    }
    judge(*waiting.event, given);
  }

  void try_waiting() {
    if (!waiting_) {
      return;
    }
    Given const given = caller_.again(world_.now().since(waiting_->began));
    if (!given.waits) {
      returned(given);
      world_.settle();
    } else if (waiting_->due + tolerance_at(waiting_->due) < world_.now()) {
      Waiting const waiting = *waiting_;
      waiting_.reset();
      fail_at(waiting.event->place, fmt::format("{} should have returned at {}, and still waits",
                                                waiting.event->call.name, time_text(waiting.due)));
    }
  }

  // ---- assertions ----

  void check(const Event& event, const std::vector<Assertion>& assertions) {
    wait_for(event);
    if (!world_.has_info()) {
      out_.unasked += static_cast<std::uint32_t>(assertions.size());
      return;
    }
    auto const info = world_.info_of(caller_.subject());
    if (!info) {
      fail({event.place, "no socket is open for tcp_info", {}, {}, {}});
    }
    for (Assertion const& one : assertions) {
      std::string seen;
      if (!holds(one, *info, seen)) {
        fail({one.place, fmt::format("assert {} does not hold: {}", one.text, seen), {}, {}, {}});
      }
    }
  }

  void step(const Event& event) {
    switch (event.kind) {
      case Event::Kind::call:
        carry_out(event);
        break;
      case Event::Kind::packet:
        event.packet.direction == Direction::in ? arrive(event) : expect(event);
        break;
      case Event::Kind::code:
        check(event, code_.at(at_));
        break;
      case Event::Kind::command:
        wait_for(event);
        for (Assignment const& one : event.command) {
          LaterOption later;
          if (set_later(one.name, one.value, later).empty()) {  // otherwise the plan has refused it
            caller_.set_later(later);
          }
        }
        break;
    }
  }

  void finish() {
    settle();
    if (cut_) {
      return;
    }
    if (waiting_) {
      pass(waiting_->due, [this] { return waiting_.has_value(); });
    }
    if (waiting_) {
      world_.go_to(waiting_->due + tolerance_at(waiting_->due) + Duration{1});
      settle();
    }
    take_early_acks();
    if (!world_.sent.empty() && !trailing_) {
      fail_extra(world_.sent.front());
    }
  }

  const Script& script_;
  Plan plan_;
  bool strict_, trailing_, keeps_, cut_;
  std::unique_ptr<World> world_owner_;
  World& world_;
  Flows flows_;
  Caller caller_;
  Ran& out_;
  std::map<std::size_t, std::vector<Assertion>> code_;
  std::size_t at_ = 0;
  Instant base_ = World::origin;
  std::optional<Waiting> waiting_;
  std::vector<Captured> captured_;
  std::optional<Witness> witness_;
  void (*before_referee_)(std::span<std::byte>) = nullptr;
  std::uint64_t shown_ = 0;
  EarlyAcks early_;
  std::deque<std::uint64_t> numbers_;  // witness numbers of those in world_.sent that were shown
};

}  // namespace

void print_failed_check(const CheckSite& site) {
  fmt::print(stderr, "lockstep: internal error: CHECK({}) failed at {}:{}", site.condition,
             site.file, site.line);
  if (standing.script != nullptr) {
    fmt::print(stderr, ", under {}:{}", standing.script->file, standing.place.line);
  }
  fmt::print(stderr, "; please report it with the script\n");
}

Ran run(const Script& script, const Overrides& overrides, Arena& arena) {
  Ran out;
  out.file = script.file;
  try {
    Runner(script, overrides, arena, out).run();
  } catch (const LeftOut& reason) {  // before the first event
    out.verdict = Verdict::left_out;
    out.reason = reason.what();
  } catch (const DeviceFault& fault) {
    out.verdict = Verdict::failed;
    out.exit_code = static_cast<int>(tools::ExitCode::finding);
    out.finding = {{1, 1}, fault.what(), {}, {}, "not created"};
  }
  return out;
}

Ran run_file(const std::string& path, const Defines& defines, const Overrides& overrides,
             Arena& arena) {
  try {
    return run(parse_file(path, defines), overrides, arena);
  } catch (const tools::Failure& failure) {
    Ran out;
    out.file = path;
    out.verdict = Verdict::bad;
    out.error = failure.what();
    out.exit_code = static_cast<int>(failure.code());
    return out;
  }
}

}  // namespace lockstep::conformance::script
