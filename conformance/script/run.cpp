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
#include "conformance/script/constants.hpp"
#include "conformance/script/runner.hpp"
#include "conformance/script/sysctl.hpp"
#include "tools/base/capture/pcapng_writer.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr std::uint16_t remote_port = 41234;

/// The position in the script that this thread runs.
struct Standing {
  const Script* script = nullptr;
  Place place;
};
thread_local Standing standing;

}  // namespace

std::string time_text(Instant at) {
  std::uint64_t const ns = at.since(World::origin).ns;
  std::string out = fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
  while (out.ends_with("000")) {
    out.resize(out.size() - 3);
  }
  return out.ends_with('.') ? out + "0" : out;
}

Runner::Runner(const Script& script, const Overrides& overrides, Arena& arena, Ran& out)
    : script_(script),
      plan_(plan_of(script, overrides)),
      strict_(script.head.strict_segments.value_or(false) || overrides.strict_segments),
      trailing_(script.head.allow_trailing.value_or(script.upstream) || overrides.allow_trailing),
      lenient_(overrides.lenient),
      exact_(overrides.exact_times),
      keeps_(overrides.keep_capture),
      cut_(overrides.cut),
      world_owner_(world_of(plan_, overrides, arena)),
      world_(*world_owner_),
      flows_({plan_.local, Port{script.head.bind_port}}, {plan_.remote, Port{remote_port}}),
      caller_(script, plan_, world_, flows_),
      out_(out) {
  out_.notes.insert(out_.notes.end(), plan_.notes.begin(), plan_.notes.end());
  if (overrides.referee) {
    witness_.emplace(plan_, world_.is_ours());
    before_referee_ = overrides.before_referee;
  }
  for (std::size_t i = plan_.first_event; i < script.events.size(); ++i) {
    if (script.events[i].kind == Event::Kind::code) {
      read_code(i, script.events[i]);
    }
  }
}

Runner::~Runner() { standing = {}; }

void Runner::run() {
  try {
    for (at_ = 0; at_ < script_.events.size(); ++at_) {
      standing = {&script_, script_.events[at_].place};
      step_or_note(script_.events[at_]);
      out_.events += at_ < plan_.first_event ? 0 : 1;
    }
    finish();
    fail_on_violation();
    out_.state = state_text();
    if (checked_ == 0 && leaves_out()) {
      throw LeftOut("nothing that can be checked is left of it");
    }
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

void Runner::read_code(std::size_t at, const Event& event) {
  try {
    code_.emplace(at, parse_code(script_, event, &out_.notes));
  } catch (const tools::Failure& failure) {
    if (!lenient_) {
      throw;
    }
    out_.notes.push_back({event.place, event.code, failure.what(), true});
  }
}

void Runner::fail(Finding finding) {
  finding.state = finding.state.empty() ? state_text() : finding.state;
  out_.finding = std::move(finding);
  keep_finding();
  throw Stop{};
}

void Runner::fail_at(Place place, const std::string& what) { fail({place, what, {}, {}, {}}); }

void Runner::keep_finding() {
  std::size_t const line = static_cast<std::size_t>(out_.finding.place.line) - 1;
  out_.line = line < script_.lines.size() ? script_.lines[line] : "";
  save_capture();
}

void Runner::failed() {
  out_.verdict = Verdict::failed;
  out_.exit_code = static_cast<int>(tools::ExitCode::finding);
}

void Runner::save_capture() {
  tools::PcapngWriter writer;
  for (Sent const& sent : world_.sent) {
    keep(sent, "sent, and not expected so far");
  }
  for (Captured const& one : captured_) {
    writer.add(one.at, one.bytes, one.comment);
  }
  out_.capture = writer.bytes();
}

std::string Runner::state_text() {
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

std::string Runner::text_of(const Sent& sent) const {
  Live const live = read_live(sent.bytes);
  Flow flow = flows_.of(live.source, live.destination);
  number(live, 0, flow);
  return live_text(live, flow);
}

Flow& Runner::flow_of(const Packet& packet) {
  if (packet.socket && !caller_.refer_to(*packet.socket)) {
    fail_at(current(),
            fmt::format("sock({}) has no connection: name one of accept() or connect() above",
                        *packet.socket));
  }
  if (flows_.select(packet)) {
    caller_.refer_to(flows_.now());
  }
  return flows_.now();
}

void Runner::keep(const Sent& sent, std::string comment) {
  captured_.push_back({sent.at, sent.bytes, std::move(comment), current(), 0});
}

void Runner::take_front(const Event& event) {
  show_sent();
  keep(world_.sent.front(), where(event));
  forget_number();
  world_.sent.pop_front();
  ++out_.packets_out;
}

void Runner::forget_number() {
  if (!numbers_.empty()) {
    captured_.back().number = numbers_.front();
    numbers_.pop_front();
  }
}

std::string Runner::where(const Event& event) const {
  return fmt::format("{}:{}", script_.file, event.place.line);
}

// ---- time ----

void Runner::settle() {
  if (!world_.settle()) {
    fail({current(), "the stack did not settle at " + time_text(world_.now()), {}, {}, {}});
  }
  try_waiting();
}

Place Runner::current() const {
  std::size_t const at = std::min(at_, script_.events.size() - 1);
  return script_.events[at].place;
}

Instant Runner::next_look() const {
  if (world_.is_ours() || !waiting_) {
    return Instant::never();
  }
  Instant const due = waiting_->due;
  Instant const last = due + tolerance_at(due);
  return due > world_.now() ? due : last > world_.now() ? last : Instant::never();
}

void Runner::go_to(Instant at) {
  pass(at, [] { return true; });
  world_.go_to(at);
  settle();
  fail_on_extra(at);
}

Duration Runner::tolerance_at(Instant at) const {
  std::uint64_t const passed = at > base_ ? at.since(base_).ns : 0;
  std::uint64_t const part = passed / 1'000'000 * script_.head.tolerance_ppm +
                             passed % 1'000'000 * script_.head.tolerance_ppm / 1'000'000;
  Duration const own{std::max(script_.head.tolerance_ns, part)};
  return exact_ ? own : own + world_.tolerance(Duration{passed});
}

Instant Runner::begin_of(const Event& event) const {
  Instant const from = event.when.relative ? base_ : World::origin;
  return from + Duration{event.when.begin};
}

void Runner::wait_for(const Event& event) {
  Instant const begin = begin_of(event);
  Duration const tolerance = tolerance_at(begin);
  if (begin + tolerance < world_.now()) {
    fail_at(event.place, fmt::format("it is already {}; this should happen at {}",
                                     time_text(world_.now()), time_text(begin)));
  }
  go_to(later(begin, world_.now()));
  base_ = begin;
}

// ---- calls ----

void Runner::judge(const Event& event, const Given& given) {
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

void Runner::carry_out(const Event& event) {
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

void Runner::returned(const Given& given) {
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

void Runner::try_waiting() {
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

void Runner::check(const Event& event, const std::vector<Assertion>& assertions) {
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

bool Runner::leaves_out() const {
  return std::any_of(out_.notes.begin(), out_.notes.end(),
                     [](const Note& note) { return note.lenient; });
}

void Runner::step_or_note(const Event& event) {
  if (!lenient_) {
    step(event);
    return;
  }
  try {
    step(event);
  } catch (const tools::Failure& failure) {
    std::size_t const line = static_cast<std::size_t>(event.place.line) - 1;
    out_.notes.push_back({event.place, line < script_.lines.size() ? script_.lines[line] : "",
                          failure.what(), true});
    return;
  }
  bool const out = event.kind == Event::Kind::packet && event.packet.direction == Direction::out;
  bool const judged = event.kind == Event::Kind::call && event.call.result.has_value();
  bool const asserts = event.kind == Event::Kind::code || !event.shell.checks.empty();
  checked_ += out || judged || asserts ? 1 : 0;
}

void Runner::step(const Event& event) {
  switch (event.kind) {
    case Event::Kind::call:
      carry_out(event);
      break;
    case Event::Kind::packet:
      event.packet.direction == Direction::in ? arrive(event) : expect(event);
      break;
    case Event::Kind::code:
      if (auto const code = code_.find(at_); code != code_.end()) {
        check(event, code->second);
      } else {
        pass_over(event);
      }
      break;
    case Event::Kind::command:
      wait_for(event);
      if (at_ >= plan_.first_event) {  // the others are part of the plan
        command(event.shell);
      }
      break;
    case Event::Kind::left_out:
      pass_over(event);
      break;
  }
}

// ---- commands ----

void Runner::command(const Shell& shell) {
  for (StateCheck const& one : shell.checks) {
    check_states(one);
  }
  if (only_commands_follow() || world_.take_settings(shell.set)) {
    return;
  }
  Config config = world_.config();
  bool changed = false;
  for (Assignment const& one : shell.set) {
    if (is_socket_default(one.name)) {
      LaterOption later;
      if (set_later(one.name, one.value, later).empty()) {
        caller_.set_later(later);
      }
    } else if (!is_neutral(one.name, one.value) &&
               set_sysctl(one.name, one.value, config).empty()) {
      changed = true;  // otherwise the plan has refused it, or has a note
    }
  }
  if (changed) {
    world_.reconfigure(config);
  }
}

bool Runner::only_commands_follow() const {
  for (std::size_t i = at_ + 1; i < script_.events.size(); ++i) {
    if (script_.events[i].kind != Event::Kind::command || !script_.events[i].shell.checks.empty()) {
      return false;
    }
  }
  return true;
}

void Runner::check_states(const StateCheck& one) {
  std::uint64_t const found = caller_.count_in(one.states);
  bool const holds = one.count ? found == *one.count : found != 0;
  if (!holds) {
    Finding finding;
    finding.place = one.place;
    finding.what = fmt::format("'{}' does not hold", one.text);
    finding.rows.push_back({"sockets in that state",
                            one.count ? fmt::format("{}", *one.count) : "one at least",
                            fmt::format("{}", found), true});
    fail(std::move(finding));
  }
}

void Runner::pass_over(const Event& event) {
  if (!event.when.any) {
    base_ = later(begin_of(event), base_);
  }
}

void Runner::finish() {
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
  out.notes = script.notes;
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
    Strictness const strictness = overrides.lenient ? Strictness::lenient : Strictness::strict;
    Defines known = defines;
    // The names by which scripts for several systems tell them apart.
    if (overrides.profile == "linux" || overrides.profile == "freebsd") {
      known.emplace_back(overrides.profile == "linux" ? "Linux" : "FreeBSD", "1");
    }
    // Those that the runner of Linux's scripts defines: the cookies of its two keys.
    if (overrides.profile == "linux") {
      for (auto const& [name, value] : {std::pair{"TFO_COOKIE", "3021b9d889017eeb"},
                                        {"TFO_COOKIE_ZERO", "b7c12350a90dc8f5"},
                                        {"CMSG_LEVEL_IP", "SOL_IP"},
                                        {"CMSG_TYPE_RECVERR", "IP_RECVERR"}}) {
        known.emplace_back(name, value);
      }
    }
    return run(parse_file(path, known, strictness), overrides, arena);
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
