// A run's packets: those that arrive, those that are expected, and the referee's verdict on ours.
#include <fmt/core.h>

#include "conformance/script/mutate.hpp"
#include "conformance/script/runner.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr Duration patience = Duration::seconds(7200);  // for an event without a time of its own
constexpr Duration look_ahead = Duration::seconds(300);
constexpr std::uint16_t flag_psh = 0x08;

}  // namespace

// ---- packets ----

void Runner::fail_on_extra(Instant now) {
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

// ---- ACKs of a device that come early, and what is expected ----

bool Runner::is_early_ack() const {
  return world_.is_other() && !world_.sent.empty() &&
         early_.is_early(read_live(world_.sent.front().bytes));
}

void Runner::take_early_acks() {
  while (is_early_ack()) {
    early_.take(read_live(world_.sent.front().bytes));
    show_sent();
    keep(world_.sent.front(), "an ACK that comes sooner than the script expects");
    forget_number();
    world_.sent.pop_front();
    ++out_.packets_out;
  }
}

bool Runner::pass_early_acks(const Event& event, Instant first, Instant last) {
  for (;;) {
    pass(last, [this] { return world_.sent.empty(); });
    bool const awaited = !world_.sent.empty() && EarlyAcks::is_alone(event.packet) &&
                         world_.sent.front().at >= first &&
                         read_live(world_.sent.front().bytes).ack ==
                             flow_of(event.packet).peer_to_live(event.packet.tcp.ack.value_or(0));
    if (awaited || !is_early_ack()) {
      bool const came = early_.came(event.packet, flow_of(event.packet));
      return world_.is_other() && !awaited && came;
    }
    take_early_acks();
  }
}

bool Runner::is_expected_later() const {
  for (std::size_t i = at_; i < script_.events.size(); ++i) {
    Event const& event = script_.events[i];
    if (event.kind == Event::Kind::packet && event.packet.direction == Direction::out) {
      return event.when.any || event.when.end != event.when.begin;
    }
  }
  return trailing_;
}

void Runner::fail_extra(const Sent& sent) {
  Finding finding;
  finding.place = current();
  finding.what =
      fmt::format("a packet that the script does not expect was sent at {}", time_text(sent.at));
  std::string const text = text_of(sent);
  finding.rows.push_back({"packet", "none", text, true});
  fail(std::move(finding));
}

void Runner::arrive(const Event& event) {
  wait_for(event);
  Packet const& packet = event.packet;
  Flow& flow = flow_of(packet);
  bool const opens = !packet.is_icmp && (packet.tcp.flags & 0x12) == 0x02;
  if (opens) {
    auto const seen = world_.state_of(flow.local, flow.remote);
    tcp::State const state = seen.value_or(tcp::State::closed);
    bool const fresh = state == tcp::State::closed || state == tcp::State::listen ||
                       state == tcp::State::time_wait;
    flow.opening = flow.opening || fresh;
    bool const unknown = !seen && flow.peer_opened;
    if (!unknown && (state == tcp::State::closed || state == tcp::State::listen)) {
      flow.shift = 0;  // a reset without a connection has the script's own numbers
    }
    flow.local_known = flow.local_known || fresh;
  }
  if (!packet.is_icmp && (packet.tcp.flags & 0x07) == 0x02) {
    note_peer(event, flow);
  }
  std::uint32_t const most = script_.head.mss.value_or(0);
  if (most == 0 || packet.is_icmp || packet.tcp.sequence.length <= most) {
    inject(event, build(packet, flow));
  } else {
    inject_cut(event, flow, most);
  }
  settle();
}

/// A script counts the peer's numbers from its initial sequence number, as packetdrill does, or as
/// they are on the wire: the next packet of ours that acknowledges the SYN shows which.
void Runner::note_peer(const Event& event, Flow& flow) {
  auto const state = world_.state_of(flow.local, flow.remote);
  bool const opens = !state ? !flow.peer_opened
                            : *state == tcp::State::closed || *state == tcp::State::listen ||
                                  *state == tcp::State::time_wait || *state == tcp::State::syn_sent;
  flow.peer_opened = true;
  if (!opens) {
    return;
  }
  SequenceRange const& opened = event.packet.tcp.sequence;
  for (std::size_t i = at_ + 1; i < script_.events.size(); ++i) {
    Event const& next = script_.events[i];
    bool const acks = next.kind == Event::Kind::packet && !next.packet.is_icmp &&
                      next.packet.direction == Direction::out && next.packet.tcp.ack;
    if (acks) {
      bool const counted = *next.packet.tcp.ack - 1 <= opened.length;
      flow.peer_shift = counted ? opened.begin : 0;
      return;
    }
  }
}

void Runner::inject(const Event& event, std::vector<std::byte> bytes) {
  mutate(bytes, event.packet.mutations);
  captured_.push_back({world_.now(), bytes, where(event), event.place, 0});
  ++out_.packets_in;
  show_sent();
  if (witness_) {
    captured_.back().number = ++shown_;
    witness_->came(world_.now(), bytes);
  }
  world_.inject(std::move(bytes));
}

void Runner::inject_cut(const Event& event, Flow& flow, std::uint32_t most) {
  Packet part = event.packet;
  std::uint32_t left = part.tcp.sequence.length;
  while (left > 0) {
    part.tcp.sequence.length = std::min(left, most);
    left -= part.tcp.sequence.length;
    constexpr std::uint16_t ends = 0x09;
    std::uint16_t const flags = event.packet.tcp.flags;
    part.tcp.flags = left == 0 ? flags : static_cast<std::uint16_t>(flags & ~ends);
    inject(event, build(part, flow));
    part.tcp.sequence.begin += part.tcp.sequence.length;
  }
}

void Runner::fail_missing(const Event& event, Instant last) {
  Finding finding;
  finding.place = event.place;
  finding.what = fmt::format("no packet was sent by {}", time_text(last));
  finding.rows.push_back({"packet", packet_text(event.packet), "none", true});
  finding.state = state_text();
  waiting_.reset();
  pass(last + look_ahead, [this] { return world_.sent.empty(); });
  finding.next = world_.sent.empty()
                     ? "nothing is sent in the following 300 seconds either"
                     : fmt::format("the next one is sent at {}: {}",
                                   time_text(world_.sent.front().at), text_of(world_.sent.front()));
  fail(std::move(finding));
}

Live Runner::take(const Event& event, Instant first, Instant last) {
  Live whole = read_live(world_.sent.front().bytes);
  take_front(event);
  std::uint32_t const wanted = event.packet.tcp.sequence.length;
  std::uint32_t const segment = whole.length;
  while (!strict_ && !event.packet.is_icmp && whole.readable && !whole.is_icmp &&
         whole.length != 0 && whole.length < wanted && !world_.sent.empty()) {
    Sent const& next = world_.sent.front();
    bool const in_time = next.at >= first && next.at <= last;
    bool const full = whole.length % segment == 0;
    // As in allow_choices(), and in allow_push().
    if (world_.is_other() || script_.upstream) {
      whole.flags &= static_cast<std::uint16_t>(~flag_psh);
    }
    if (!in_time || !full || !join(whole, read_live(next.bytes), segment)) {
      break;
    }
    take_front(event);
    ++whole.segments;
  }
  return whole;
}

std::optional<std::size_t> Runner::first_of(const Flow& flow) const {
  for (std::size_t i = 0; i < world_.sent.size(); ++i) {
    Live const live = read_live(world_.sent[i].bytes);
    const Flow* const its = flows_.known(live.source, live.destination);
    if (!live.readable || live.is_icmp || its == nullptr || its == &flow) {
      return i;
    }
  }
  return std::nullopt;
}

void Runner::bring_forward(const Event& event, Instant last) {
  Flow const& flow = flow_of(event.packet);
  pass(last, [&] { return !first_of(flow); });
  auto const at = first_of(flow);
  if (!at || *at == 0) {
    return;
  }
  show_sent();
  const auto move = [&at](auto& queue) {
    auto const from = queue.begin() + static_cast<std::ptrdiff_t>(*at);
    std::rotate(queue.begin(), from, from + 1);
  };
  move(world_.sent);
  if (numbers_.size() > *at) {
    move(numbers_);
  }
}

void Runner::expect(const Event& event) {
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
  if (!world_.sent.empty() && !event.packet.is_icmp && flows_.all().size() > 1) {
    bring_forward(event, last);
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
  if (world_.is_other()) {
    allow_choices(rows);
  }
  // An offload's packet of several segments: Linux sets PSH on each, and there is none here.
  if (script_.upstream && !strict_ && live.segments > 1) {
    allow_push(rows);
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

void Runner::show_sent() {
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

void Runner::fail_on_violation() {
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

}  // namespace lockstep::conformance::script
