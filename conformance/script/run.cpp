// Runs a script against a stack in virtual time, with no tolerance.
#include "conformance/script/run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "conformance/script/calls.hpp"
#include "conformance/script/cursor.hpp"
#include "conformance/script/format.hpp"
#include "conformance/script/segment.hpp"
#include "core/seam/turn.hpp"

namespace lockstep::script {
namespace {

constexpr std::uint32_t frame_max = 2048;
constexpr std::uint32_t turns_max = 1'000'000;  // of one script
constexpr Instant begin{1'000'000'000'000};     // the script's 0
constexpr Port peer_port{40000};                // of who connects to us

// A packet that has left, and when.
struct Sent {
  Instant at;
  Segment segment;
};

// The driver: what the script sends comes in, what the stack sends waits to be expected.
class Wire {
 public:
  explicit Wire(const Instant& clock) : clock_(clock) {}

  Instant now() const { return clock_; }
  std::span<const Ingress> receive() {
    lent_.clear();
    for (auto const& frame : coming_) {
      lent_.push_back({frame, Checksum::unknown, clock_});
    }
    return lent_;
  }
  std::span<std::byte> claim() { return room_; }
  void commit(const Egress& egress) {
    Sent out;
    out.at = clock_;
    std::string const wrong = decode(std::span(room_).first(egress.length), out.segment);
    if (wrong.empty()) {
      sent.push_back(std::move(out));
    } else if (fault.empty()) {
      fault = wrong;
    }
  }
  void reclaim() { coming_.clear(); }
  void deliver(std::vector<std::byte> frame) { coming_.push_back(std::move(frame)); }

  std::deque<Sent> sent;
  std::string fault;  // of what left and is no packet that a script can name

 private:
  const Instant& clock_;
  std::array<std::byte, frame_max> room_{};
  std::vector<std::vector<std::byte>> coming_;
  std::vector<Ingress> lent_;
};

static_assert(Driver<Wire>);

// The one connection of a script: whose ports its packets have, and how its numbers map.
struct Flow {
  bool known = false;
  Port local;
  Port remote;
  bool numbered = false;              // our initial sequence number is known
  std::uint32_t offset = 0;           // wire less script, of our sequence numbers
  bool stamped = false;
  std::uint32_t stamp_offset = 0;     // wire less script, of our timestamps
};

// Ends a run: the script does not hold.
struct Broken {
  Place place;
  std::string expected;
  std::string actual;
};

class Runner {
 public:
  explicit Runner(const RunSettings& settings)
      : strict_(settings.strict_segments),
        config_(config_of(settings.config)),
        memory_bytes_(static_cast<std::size_t>(Stack::arena_bytes(config_)) + 64),
        memory_(std::make_unique_for_overwrite<std::byte[]>(memory_bytes_)),
        stack_(config_, aligned()),
        sockets_(stack_, {.descriptors = {3, Count{64}}, .epolls_max = Count{1},
                          .items_max = Count{1}}),
        wire_(clock_),
        caller_(sockets_) {}

  void run(const Script& script) {
    heed(script);
    turn_once();
    for (Event const& event : script.events) {
      play(event);
    }
    if (pending_ != nullptr) {
      advance(*pending_, returns_);
      end_pending();
    }
  }

 private:
  static Config config_of(Config config) {
    config.link = LinkType::ip;
    config.addresses[0] = {Caller::local, 16};
    config.address_count = Count{1};
    set_mtu(config, Bytes{1500});
    // What one connection needs, so that scripts begin soon.
    config.tcp.connections_max = Count{16};
    config.tcp.active_max = Count{16};
    config.tcp.time_wait_max = Count{16};
    config.tcp.listeners_max = Count{16};
    config.tcp.pieces_max = Count{1024};
    config.tcp.extents_max = Count{256};
    config.tcp.owed_max = Count{256};
    config.tcp.marks_max = Count{2048};
    config.tcp.sent_max = Count{2048};
    config.neighbours_max = Count{16};
    return config;
  }

  std::span<std::byte> aligned() {
    auto const address = reinterpret_cast<std::uintptr_t>(memory_.get());
    return std::span(memory_.get(), memory_bytes_).subspan((64 - address % 64) % 64);
  }

  // Settings that change nothing here are known by name; every other one is refused.
  void heed(const Script& script) {
    for (Setting const& setting : script.settings) {
      if (setting.name == "strict_segments") {
        strict_ = true;
      } else if (setting.name != "ip_version" || setting.value != "ipv4") {
        Cursor::fail(setting.place, fmt::format("--{} is no setting that is known here; expected "
                                                "--strict_segments or --ip_version=ipv4",
                                                setting.name));
      }
    }
    if (script.first) {
      Cursor::fail({}, fmt::format("`{}` is no command that is known here", script.first->text));
    }
  }

  void turn_once() {
    if (++turns_ > turns_max) {
      throw Broken{place_, fmt::format("an end of this within {} turns", turns_max), ""};
    }
    turn(stack_, wire_, sockets_);
    if (!wire_.fault.empty()) {
      throw Broken{place_, "packets that a script can name; the stack sent " + wire_.fault, ""};
    }
    retry();
  }

  // Until the stack has nothing more to do at this instant.
  void settle() {
    do {
      turn_once();
    } while (stack_.deadline() <= clock_);
  }

  void advance(const Event& event, Instant until) {
    if (until < clock_) {
      throw Broken{event.place, fmt::format("the time of this event has passed: it is {} already",
                                            text_of(clock_)), ""};
    }
    while (stack_.deadline() <= until) {
      clock_ = later(clock_, stack_.deadline());
      turn_once();
    }
    clock_ = until;
  }

  static std::string text_of(Instant at) { return format(When{{}, at.since(begin), {}, {}}); }

  Instant due(const When& when) const {
    return when.kind == When::Kind::relative ? last_ + when.at : begin + when.at;
  }

  void play(const Event& event) {
    place_ = event.place;
    if (auto const* packet = std::get_if<Packet>(&event.what)) {
      if (!std::holds_alternative<TcpPacket>(packet->what)) {
        Cursor::fail(event.place, "ICMP is no packet that this runner knows");
      }
      packet->inbound ? send(event, *packet) : expect(event, *packet);
    } else if (auto const* call = std::get_if<Call>(&event.what)) {
      advance(event, due(event.when));
      make(event, *call);
    } else {
      Cursor::fail(event.place, "code and commands are not known to this runner");
    }
    last_ = clock_;
  }

  // --- calls ---
  void make(const Event& event, const Call& call) {
    When const& when = event.when;
    Instant const returns = due(When{when.kind, when.returns.value_or(when.at), {}, {}});
    Called const called = caller_.call(call, event.place, false);
    if (called.blocks) {
      if (!event.when.returns || pending_ != nullptr) {
        throw Broken{event.place,
                     pending_ != nullptr
                         ? "one call that blocks at a time"
                         : "a call that returns at once; this one blocks: write when it returns, "
                           "as 0.1...0.2, or set O_NONBLOCK",
                     ""};
      }
      pending_ = &event;
      returns_ = returns;
    } else {
      check(event, called.fault);
      check_return(event, returns);
    }
    settle();
  }

  static void check(const Event& event, const std::string& fault) {
    if (!fault.empty()) {
      throw Broken{event.place, fault, ""};
    }
  }

  // A call that names no end has to return when it is made.
  void check_return(const Event& event, Instant returns) const {
    if (returns != clock_) {
      throw Broken{event.place, fmt::format("the call to return at {}; it did at {}",
                                            text_of(returns), text_of(clock_)), ""};
    }
  }

  // The call that blocks may have something to do now.
  void retry() {
    if (pending_ == nullptr) {
      return;
    }
    Event const& event = *pending_;
    Called const called = caller_.call(std::get<Call>(event.what), event.place, true);
    if (!called.blocks) {
      pending_ = nullptr;
      check(event, called.fault);
      check_return(event, returns_);
    }
  }

  void end_pending() {
    if (pending_ != nullptr) {
      throw Broken{pending_->place, "the call to return; it blocks still", ""};
    }
  }

  // --- packets to the stack ---
  void send(const Event& event, const Packet& packet) {
    advance(event, due(event.when));
    Segment out;
    out.tcp = std::get<TcpPacket>(packet.what);
    out.ecn = packet.ecn;
    if (!flow_.known) {
      flow_ = Flow{true, caller_.bound(), peer_port, false, 0, false, 0};
    }
    out.source = {Caller::remote, flow_.remote};
    out.destination = {Caller::local, flow_.local};
    if (out.tcp.ack) {
      *out.tcp.ack += flow_.offset;
    }
    for (Option& option : out.tcp.options) {
      if (option.kind == Option::Kind::sack) {
        for (std::uint32_t& number : option.numbers) {
          number += flow_.offset;
        }
      } else if (option.kind == Option::Kind::timestamps && option.numbers[1] != 0) {
        option.numbers[1] += flow_.stamp_offset;
      }
    }
    if (out.tcp.text.length > 1460) {
      Cursor::fail(event.place, "a packet to the stack has 1460 octets of text at most");
    }
    wire_.deliver(encode(out));
    settle();
  }

  // --- packets from the stack ---
  void expect(const Event& event, const Packet& packet) {
    When const& when = event.when;
    bool const any = when.kind == When::Kind::any;
    Instant const first = any ? clock_ : due(when);
    Instant const last = any ? Instant::never()
                         : when.latest ? due(When{when.kind, *when.latest, {}, {}}) : first;
    std::string const wanted = format(packet);
    if (!any && last < clock_ && wire_.sent.empty()) {
      advance(event, last);
    }
    while (wire_.sent.empty()) {
      Instant const next = stack_.deadline();
      if (next.is_never() || next > last) {
        std::string const by = any ? "" : " by " + text_of(last);
        throw Broken{event.place, wanted, "nothing was sent" + by};
      }
      clock_ = later(clock_, next);
      turn_once();
    }
    Sent sent = wire_.sent.front();
    wire_.sent.pop_front();
    learn(sent.segment, std::get<TcpPacket>(packet.what));
    Packet actual = as_script(sent.segment);
    merge(actual, std::get<TcpPacket>(packet.what), sent.at);
    hide_unsaid(packet, actual);
    bool const in_time = any || (sent.at >= first && sent.at <= last);
    if (!(actual == packet) || !in_time) {
      std::string const at = in_time ? "" : " at " + text_of(sent.at);
      std::string const at_wanted = in_time ? "" : " at " + text_of(first);
      throw Broken{event.place, wanted + at_wanted, format(actual) + at};
    }
    clock_ = later(clock_, sent.at);
  }

  // The first packets tell the ports, and what our numbers on the wire are in the script's.
  void learn(const Segment& segment, const TcpPacket& wanted) {
    TcpPacket const& tcp = segment.tcp;
    bool const syn = tcp.flags.find('S') != std::string::npos;
    if (!flow_.known) {
      flow_.known = true;
      flow_.local = segment.source.port;
      flow_.remote = segment.destination.port;
    }
    if (syn && !flow_.numbered) {
      flow_.numbered = true;
      flow_.offset = tcp.text.first - wanted.text.first;
    }
    auto const stamp = [](const TcpPacket& of) {
      return std::ranges::find(of.options, Option::Kind::timestamps, &Option::kind);
    };
    auto const ours = stamp(tcp);
    auto const scripted = stamp(wanted);
    if (!flow_.stamped && ours != tcp.options.end() && scripted != wanted.options.end()) {
      flow_.stamped = true;
      flow_.stamp_offset = ours->numbers[0] - scripted->numbers[0];
    }
  }

  Packet as_script(const Segment& segment) const {
    Packet out;
    out.ecn = segment.ecn;
    TcpPacket tcp = segment.tcp;
    tcp.text.first -= flow_.offset;
    tcp.text.end -= flow_.offset;
    if (tcp.flags.find('.') == std::string::npos) {
      tcp.ack.reset();
    }
    if (tcp.flags.find('U') == std::string::npos) {
      tcp.urgent.reset();
    }
    for (Option& option : tcp.options) {
      if (option.kind == Option::Kind::timestamps) {
        option.numbers[0] -= flow_.stamp_offset;
      }
    }
    out.what = tcp;
    return out;
  }

  // As long as the script's packet is longer: what follows at once and says the same is part of it.
  void merge(Packet& actual, const TcpPacket& wanted, Instant at) {
    auto& whole = std::get<TcpPacket>(actual.what);
    while (!strict_ && whole.text.length < wanted.text.length && !wire_.sent.empty() &&
           wire_.sent.front().at == at) {
      Packet const next = as_script(wire_.sent.front().segment);
      auto const& part = std::get<TcpPacket>(next.what);
      bool const follows = part.text.first == whole.text.end && part.text.length != 0 &&
                           part.ack == whole.ack && part.window == whole.window &&
                           next.ecn == actual.ecn && part.options == whole.options &&
                           whole.text.length + part.text.length <= wanted.text.length;
      if (!follows) {
        return;
      }
      whole.text.length += part.text.length;
      whole.text.end = part.text.end;
      whole.flags = part.flags;
      wire_.sent.pop_front();
    }
  }

  // What the script leaves out may be anything. Flags are compared in one order.
  static void hide_unsaid(const Packet& packet, Packet& actual) {
    auto const& wanted = std::get<TcpPacket>(packet.what);
    auto& tcp = std::get<TcpPacket>(actual.what);
    if (packet.ecn == Ecn::unsaid) {
      actual.ecn = Ecn::unsaid;
    }
    if (!wanted.window) {
      tcp.window.reset();
    }
    if (!wanted.urgent) {
      tcp.urgent.reset();
    }
    if (wanted.any_options) {
      tcp.any_options = true;
      tcp.options.clear();
    }
    if (std::ranges::is_permutation(wanted.flags, tcp.flags)) {
      tcp.flags = wanted.flags;
    }
  }

  bool strict_;
  Config config_;
  std::size_t memory_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  Instant clock_ = begin;
  Instant last_ = begin;  // of the event before
  Stack stack_;
  tools::Sockets sockets_;
  Wire wire_;
  Caller caller_;
  Flow flow_;
  Place place_;
  const Event* pending_ = nullptr;  // a call that blocks ...
  Instant returns_;                 // ... until then
  std::uint32_t turns_ = 0;
};

}  // namespace

RunResult run(const Script& script, const RunSettings& settings) {
  auto const runner = std::make_unique<Runner>(settings);
  try {
    runner->run(script);
  } catch (const Broken& broken) {
    return {Verdict::failed, broken.place, broken.expected, broken.actual};
  }
  return {};
}

}  // namespace lockstep::script
