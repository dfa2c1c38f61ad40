// Plays a script to another TCP: a device of conformance/devices, in virtual time.
#include "conformance/replay/device_play.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/live.hpp"
#include "conformance/replay/options.hpp"
#include "conformance/replay/packet.hpp"
#include "conformance/replay/played_numbers.hpp"
#include "conformance/replay/replay_port.hpp"
#include "conformance/replay/unaided.hpp"
#include "conformance/replay/watch.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

constexpr std::uint32_t piece_bytes = 65'536;

tools::Decoded decoded(const std::vector<std::byte>& packet) {
  tools::CapturedFrame frame;
  frame.bytes = packet;
  frame.original_bytes = static_cast<std::uint32_t>(packet.size());
  return tools::decode(frame, tools::LinkLayer::raw_ip);
}

/// The program on the device: makes the script's calls in order, as ReplayApplication does.
class DeviceProgram {
 public:
  DeviceProgram(DevicePeer& device, const Endpoint& local, const Endpoint& remote)
      : device_(device), local_(local), remote_(remote) {}

  void ask(const Step& call) { calls_.push_back(call); }
  /// The peer has sent so many octets more, retransmitted ones included.
  void arrived(std::uint64_t octets) { arrived_ += octets; }
  /// Accepts, reads, and makes the calls that are possible now.
  void run();
  /// The call that the device lacks; empty if it has all.
  const std::string& lacks() const { return lacks_; }
  /// Whether it has listened or connected.
  bool opens() const { return listener_.has_value() || had_connection_; }

 private:
  std::int64_t ask(lockstep_device_call call, std::uint64_t first, std::uint64_t second = 0,
                   std::string_view octets = {});
  [[noreturn]] void fault(lockstep_device_call call, const std::string& what) const {
    throw DeviceFault(fmt::format("device {}: {}: {}", device_.about().name, name_of(call), what));
  }
  bool carry_out(Step& call);
  bool write(Step& call);
  void accept();
  void read();

  DevicePeer& device_;
  Endpoint local_, remote_;
  std::deque<Step> calls_;
  std::optional<std::uint64_t> listener_, connection_;
  std::string lacks_;
  std::uint64_t allowance_ = 0;  ///< octets that may be read while reading is held
  std::uint64_t arrived_ = 0, read_ = 0;
  bool reading_ = true, ended_ = false, had_connection_ = false;
};

std::int64_t DeviceProgram::ask(lockstep_device_call call, std::uint64_t first,
                                std::uint64_t second, std::string_view octets) {
  DeviceAnswer const answer = device_.ask(call, first, second, octets);
  if (answer.result == LOCKSTEP_DEVICE_UNSUPPORTED && lacks_.empty()) {
    lacks_ = name_of(call);
  }
  return answer.result;
}

void DeviceProgram::accept() {
  if (listener_ && !connection_) {
    std::int64_t const made = ask(LOCKSTEP_CALL_ACCEPT, *listener_);
    if (made >= 0) {
      connection_ = static_cast<std::uint64_t>(made);
      had_connection_ = true;
      ended_ = false;
    }
  }
}

void DeviceProgram::read() {
  bool const can = device_.about().calls.contains("receive");
  while (can && connection_ && !ended_ && (reading_ || allowance_ != 0)) {
    std::uint64_t const most =
        reading_ ? piece_bytes : std::min<std::uint64_t>(allowance_, piece_bytes);
    std::int64_t const got = ask(LOCKSTEP_CALL_RECEIVE, *connection_, most);
    if (got <= 0) {
      ended_ = got == 0 || got == LOCKSTEP_DEVICE_GONE;
      return;
    }
    read_ += static_cast<std::uint64_t>(got);
    if (read_ > arrived_) {
      fault(LOCKSTEP_CALL_RECEIVE, "it has returned more octets than the peer has sent");
    }
    allowance_ -= std::min(allowance_, static_cast<std::uint64_t>(got));
  }
}

bool DeviceProgram::write(Step& call) {
  std::string_view const octets(reinterpret_cast<const char*>(call.content.data()),
                                std::min<std::size_t>(call.content.size(), piece_bytes));
  std::int64_t const taken = ask(LOCKSTEP_CALL_SEND, *connection_, 0, octets);
  if (taken > static_cast<std::int64_t>(octets.size())) {
    fault(LOCKSTEP_CALL_SEND, fmt::format("it took {} of {} octets", taken, octets.size()));
  }
  if (taken < 0 && taken != LOCKSTEP_DEVICE_AGAIN) {
    return true;  // this write cannot succeed later either
  }
  call.content.erase(
      call.content.begin(),
      call.content.begin() + static_cast<std::ptrdiff_t>(std::max<std::int64_t>(taken, 0)));
  return call.content.empty();
}

bool DeviceProgram::carry_out(Step& call) {
  if (call.act == Act::listen) {
    std::int64_t const made = ask(LOCKSTEP_CALL_LISTEN, local_.port.value, 16);
    if (made >= 0) {
      listener_ = static_cast<std::uint64_t>(made);
    }
    return true;
  }
  if (call.act == Act::open) {
    std::int64_t const made = ask(LOCKSTEP_CALL_CONNECT, local_.port.value, remote_.port.value);
    if (made >= 0) {
      connection_ = static_cast<std::uint64_t>(made);
      had_connection_ = true;
      ended_ = false;
    }
    return true;
  }
  if (call.act == Act::hold || call.act == Act::resume) {
    reading_ = call.act == Act::resume;
    return true;
  }
  if (!connection_) {
    return had_connection_;  // before the connection exists the call waits
  }
  switch (call.act) {
    case Act::write:
      return write(call);
    case Act::urgent:
      if (!write(call)) {
        return false;
      }
      ask(LOCKSTEP_CALL_URGENT, *connection_);
      return true;
    case Act::consume:
      allowance_ += call.bytes;
      return true;
    case Act::finish:
      ask(LOCKSTEP_CALL_FINISH, *connection_);
      return true;
    default:
      read();
      ask(call.act == Act::close ? LOCKSTEP_CALL_CLOSE : LOCKSTEP_CALL_ABORT, *connection_);
      connection_.reset();
      return true;
  }
}

void DeviceProgram::run() {
  accept();
  read();
  while (!calls_.empty() && carry_out(calls_.front())) {
    calls_.pop_front();
    read();
  }
}

class DevicePlayer {
 public:
  DevicePlayer(DevicePeer& device, const Script& script)
      : script_(script),
        addresses_(played_addresses(script)),
        local_{addresses_.device, script.device.port},
        remote_{addresses_.peer, script.peer.port},
        device_(device),
        program_(device, local_, remote_),
        numbers_(script) {
    out_.device = local_;
    out_.peer = remote_;
  }

  DevicePlay play() {
    if (create()) {
      advance(now_);
      for (const Step& step : script_.steps) {
        if (!make(step)) {
          break;
        }
      }
      if (out_.notes.empty()) {
        advance(replay_origin + script_.end.since(Instant{}) + late_ + Duration::seconds(5));
      }
      if (!program_.lacks().empty()) {
        tell_lack();
      }
    }
    return std::move(out_);
  }

 private:
  /// Without a connection nothing can be judged; without another call the packets can.
  void tell_lack() {
    std::string const lack = fmt::format("the device has no call {}", program_.lacks());
    if (program_.opens()) {
      out_.notes.push_back(lack);
    } else {
      out_.cannot_tell = lack;
      out_.notes.clear();
    }
  }

  bool create() {
    bool const four = local_.address.is_v4();
    if (!device_.about().abilities.contains(four ? "ipv4" : "ipv6")) {
      out_.cannot_tell = fmt::format("the device has no {}", four ? "IPv4" : "IPv6");
      return false;
    }
    DeviceAnswer answer;
    for (std::string_view const profile : {"default", "rfc"}) {
      answer =
          device_.ask(LOCKSTEP_CALL_CREATE, 0, 0,
                      fmt::format("local={}\nremote={}\nmtu=1500\nseed=1\nstart={}\nprofile={}\n",
                                  tools::text_of(local_.address), tools::text_of(remote_.address),
                                  replay_origin.ns, profile));
      if (answer.result != LOCKSTEP_DEVICE_UNSUPPORTED) {
        break;
      }
    }
    if (answer.result < 0) {
      out_.cannot_tell = fmt::format("the device cannot be created: {}", answer.octets);
    }
    return answer.result >= 0;
  }

  Instant due(const Step& step) const { return replay_origin + step.at.since(Instant{}) + late_; }

  /// False: the play ends here.
  bool make(const Step& step) {
    advance(due(step));
    Instant latest;
    for (const Need& need : step.needs) {
      if (need.kind == Need::Kind::triggered) {
        if (!numbers_.met(step, need)) {
          return true;  // a duplicate ACK of what the device has not sent
        }
      } else if (!numbers_.met(step, need)) {
        if (!wait_for(step, need)) {
          stop_at(step, need);
          return false;
        }
        latest = later(latest, now_ + step.at.since(need.met));
      }
    }
    // A need that is met later than in the capture delays all later steps by the same time.
    if (latest > due(step)) {
      late_ = late_ + latest.since(due(step));
      advance(latest);
    }
    if (step.kind == Step::Kind::call) {
      program_.ask(step);
    } else {
      program_.arrived(step.kind == Step::Kind::segment ? step.segment.payload.size() : 0);
      arrive(step.kind == Step::Kind::segment ? segment_bytes(step) : icmp_bytes(step));
    }
    advance(now_);
    return true;
  }

  void stop_at(const Step& step, const Need& need) {
    out_.notes.push_back(
        need.kind == Need::Kind::right_edge
            ? fmt::format("played up to packet {} of the capture: the device does not offer the "
                          "window that it needs",
                          step.packet)
            : fmt::format("played up to packet {} of the capture: the device does not send what "
                          "that answers",
                          step.packet));
  }

  // --- Packets ---

  void arrive(std::vector<std::byte> packet) {
    if (packet.empty()) {
      return;
    }
    std::string_view const octets(reinterpret_cast<const char*>(packet.data()), packet.size());
    out_.packets.push_back({Instant{} + now_.since(replay_origin), false, packet});
    take(device_.ask(LOCKSTEP_CALL_PACKET, 0, 0, octets));
  }

  std::vector<std::byte> segment_bytes(const Step& step) const {
    Segment segment = step.segment;
    segment.source = remote_;
    segment.destination = local_;
    if (segment.any(flag::ack)) {
      segment.acknowledgment = numbers_.as_played(segment.acknowledgment, step.incarnation);
    }
    if (segment.any(flag::ack)) {
      set_echo(segment, stamp_before(now_ - step.echo_age.value_or(Duration{})));
    }
    if (auto const blocks = blocks_of(segment); !blocks.empty()) {
      set_blocks(segment, numbers_.played_blocks(step, blocks));
    }
    return packet_of(segment);
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

  /// The timestamp of the last segment that the device had sent at an instant, so that the play has
  /// the capture's round-trip times; else of its first one.
  std::uint32_t stamp_before(Instant at) const {
    auto const after = std::ranges::upper_bound(stamps_, at, {}, &Stamp::at);
    if (stamps_.empty()) {
      return 0;
    }
    return after == stamps_.begin() ? stamps_.front().value : std::prev(after)->value;
  }

  void take(const DeviceAnswer& answer) {
    now_ = later(now_, Instant{answer.now});
    for (const std::vector<std::byte>& packet : answer.packets) {
      tools::Decoded const read = decoded(packet);
      const Segment& segment = read.segment;
      if (read.kind != tools::FrameKind::tcp || segment.destination != remote_) {
        continue;
      }
      out_.packets.push_back({Instant{} + now_.since(replay_origin), true, packet});
      std::uint32_t const shift = segment.any(flag::syn) ? 0 : script_.device_shift;
      numbers_.add(segment, std::uint32_t{segment.window} << shift);
      if (auto const stamps = stamps_of(segment)) {
        stamps_.push_back({now_, stamps->value});
      }
    }
  }

  // --- Time ---

  /// Runs the device and its program up to `until`, with all that they do at that instant.
  void advance(Instant until) {
    constexpr int stops_max = 1'000'000, still_max = 1'000;
    int still = 0;
    for (int count = 0; count < stops_max && still < still_max; ++count) {
      program_.run();
      Instant const before = now_;
      DeviceAnswer const answer = device_.ask(LOCKSTEP_CALL_ADVANCE, later(until, now_).ns);
      take(answer);
      still = now_ == before ? still + 1 : 0;
      if (answer.packets.empty() && now_ >= until) {
        program_.run();
        return;
      }
    }
    throw DeviceFault(
        fmt::format("device {}: advance: the play did not settle", device_.about().name));
  }

  bool wait_for(const Step& step, const Need& need) {
    constexpr int waits_max = 100'000;
    Instant const horizon = now_ + Duration::seconds(900);
    for (int count = 0; !numbers_.met(step, need); ++count) {
      if (need.kind == Need::Kind::sent && acknowledge_part(step)) {
        continue;
      }
      if (now_ >= horizon || count == waits_max) {
        return false;
      }
      take(device_.ask(LOCKSTEP_CALL_ADVANCE, horizon.ns));  // to its next packet
      advance(now_);
    }
    return true;
  }

  /// The peer acknowledges what it has received, because the device sends no more before that.
  bool acknowledge_part(const Step& step) {
    std::uint32_t const highest = numbers_.highest();
    bool const tried = part_tried_ && *part_tried_ == highest;
    bool const useful =
        step.kind == Step::Kind::segment && step.segment.any(flag::ack) && step.incarnation != 0 &&
        numbers_.knows(step.incarnation) && !tried &&
        before(highest, numbers_.as_played(step.segment.acknowledgment, step.incarnation));
    if (!useful) {
      return false;
    }
    part_tried_ = highest;
    advance(now_ + script_.round_trip);
    if (numbers_.highest() != highest) {
      return true;  // it has sent more meanwhile
    }
    Segment part;
    part.source = remote_;
    part.destination = local_;
    part.ipv6 = step.segment.ipv6;
    part.hop_limit = step.segment.hop_limit;
    part.flags = flag::ack;
    part.sequence = step.segment.sequence;
    part.acknowledgment = highest;
    part.window = step.segment.window;
    if (auto const stamps = stamps_of(step.segment)) {
      part.options = step.segment.options;
      set_blocks(part, {});
      set_echo(part, stamp_before(now_));
    }
    arrive(packet_of(part));
    advance(now_);
    return true;
  }

  struct Stamp {
    Instant at;
    std::uint32_t value;
  };

  const Script& script_;
  PlayedAddresses addresses_;
  Endpoint local_, remote_;
  DevicePeer& device_;
  DeviceProgram program_;
  PlayedNumbers numbers_;
  DevicePlay out_;
  std::vector<Stamp> stamps_;
  std::optional<std::uint32_t> part_tried_;
  Instant now_ = replay_origin;
  Duration late_;
};

/// What has arrived at the device of the peer's stream, without a gap.
class Arrived {
 public:
  void take(const Segment& segment) {
    if (segment.any(flag::syn) && (!known_ || segment.sequence != first_)) {
      known_ = true;
      first_ = next_ = segment.sequence;
      place_ = 0;
      above_.clear();
    }
    if (!known_ || segment.sum == tools::SumState::bad || segment.length() == 0) {
      return;
    }
    std::int64_t const begin = place_ + static_cast<std::int32_t>(segment.sequence - next_);
    std::int64_t& end = above_.try_emplace(begin, begin).first->second;
    end = std::max(end, begin + segment.length());
    std::int64_t const before_it = place_;
    while (!above_.empty() && above_.begin()->first <= place_) {
      place_ = std::max(place_, above_.begin()->second);
      above_.erase(above_.begin());
    }
    next_ += static_cast<std::uint32_t>(place_ - before_it);
  }
  /// How many octets beyond it a number acknowledges.
  std::uint32_t beyond(std::uint32_t number) const {
    return known_ && before(next_, number) ? number - next_ : 0;
  }

 private:
  bool known_ = false;
  std::uint32_t first_ = 0, next_ = 0;
  std::int64_t place_ = 0;                      ///< of next_ in the stream
  std::map<std::int64_t, std::int64_t> above_;  ///< places: where each begins, its end
};

/// Certain, because a play has every packet that arrived.
std::vector<Finding> acks_of_the_unheard(const Flow& flow, const Endpoint& device) {
  std::vector<Finding> out;
  Arrived arrived;
  for (const Segment& segment : flow.segments) {
    if (segment.source != device) {
      arrived.take(segment);
    } else if (segment.any(flag::ack) && !segment.any(flag::rst) &&
               arrived.beyond(segment.acknowledgment) != 0) {
      out.push_back({segment.number, segment.number, "9293:P-ACK-CUMUL",
                     fmt::format("acknowledges {} octets that never arrived",
                                 arrived.beyond(segment.acknowledgment))});
    }
  }
  return out;
}

}  // namespace

Replayed judge_play(const DevicePlay& play, const Flow& flow) {
  Replayed out = replay_mended(flow, play.device);
  add_findings(out.verdict, out.script, acks_of_the_unheard(flow, play.device));
  return out;
}

DevicePlay play_on(DevicePeer& device, const Script& script) {
  return DevicePlayer(device, script).play();
}

Flow flow_of(const DevicePlay& play, std::uint64_t& number) {
  Flow out;
  for (const PlayedPacket& packet : play.packets) {
    tools::Decoded read = decoded(packet.bytes);
    ++number;
    read.segment.number = read.icmp.number = number;
    read.segment.time = read.icmp.time = packet.at;
    if (read.kind == tools::FrameKind::tcp) {
      out.segments.push_back(std::move(read.segment));
    } else if (read.kind == tools::FrameKind::icmp_error) {
      out.errors.push_back(std::move(read.icmp));
    }
  }
  bool const by_device = !play.packets.empty() && play.packets.front().from_device;
  out.first = by_device ? play.device : play.peer;
  out.second = by_device ? play.peer : play.device;
  out.recorded_since = play.packets.empty() ? Instant{} : play.packets.front().at;
  return out;
}

}  // namespace lockstep::conformance
