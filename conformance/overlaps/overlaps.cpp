// Sends overlapping segments and fragments to a device, and reads what it delivers.
#include "conformance/overlaps/overlaps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/wire/ipv4.hpp"
#include "core/wire/octets.hpp"
#include "sim/models/raw_packets.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance {
namespace {

constexpr std::uint64_t ms = 1'000'000, second = 1'000 * ms;
// Longer than a receiver keeps fragments of a packet: 60 s, RFC 8200 4.5, or up to 120 s, RFC 1122
// 3.3.2.
constexpr std::uint64_t reassembly = 130 * second;
constexpr std::uint32_t turns_max = 100'000;
constexpr std::uint16_t listening = 7'000;
constexpr std::uint16_t window = 32'768;

// A unit is eight octets, as fragments count them. In front of the first is the head: with a header
// of 20 octets it makes a fragment of 24.
constexpr std::size_t unit_octets = 8, head_octets = 4;
constexpr char head_letter = 'h', tail_letter = 't';

/// The octets of a letter's unit. Their sum is that of no octets, so that a checksum holds for all
/// letters.
std::array<char, unit_octets> unit_of(char letter) {
  std::array<char, unit_octets> out{};
  for (std::size_t i = 0; i < unit_octets; ++i) {
    out[i] = static_cast<char>((i & 2) == 0 ? letter : ~letter);
  }
  return out;
}

std::string octets_of(std::string_view letters) {
  std::string out;
  for (char const letter : letters) {
    out += letter == head_letter ? std::string(head_octets, head_letter)
                                 : std::string(unit_of(letter).data(), unit_octets);
  }
  return out;
}

char letter_of(std::string_view octets) {
  auto const expected = unit_of(octets.front());
  return std::ranges::equal(octets, expected) ? octets.front() : wrong_octets;
}

/// The letters of what was read; the head is not among them.
std::string letters_of(std::string_view octets, std::size_t units) {
  std::string out;
  if (octets.substr(0, head_octets) != std::string(head_octets, head_letter)) {
    return std::string(units, wrong_octets);
  }
  for (std::size_t at = head_octets; at < octets.size(); at += unit_octets) {
    out += letter_of(octets.substr(at, unit_octets));
  }
  return out;
}

std::string bytes_of(std::span<const std::byte> packet) {
  return {reinterpret_cast<const char*>(packet.data()), packet.size()};
}

bool covers(const Chunk& chunk, std::size_t unit) {
  return unit >= chunk.begin && unit < chunk.end;
}

/// The stretches of units that no chunk covers.
std::vector<Chunk> gaps_of(const Arrangement& arrangement) {
  std::string const covered = first_wins(arrangement);
  std::vector<Chunk> out;
  for (std::uint8_t at = 0; at < covered.size(); ++at) {
    if (covered[at] == no_chunk) {
      out.push_back({at, static_cast<std::uint8_t>(at + 1)});
    }
  }
  return out;
}

bool is_tcp(OverlapLayer layer) {
  return layer == OverlapLayer::tcp_queued || layer == OverlapLayer::tcp_in_order;
}

/// Whether `delivered` is `wanted` except where it was sent again.
bool is_part(std::string_view delivered, std::string_view wanted) {
  return std::ranges::equal(delivered, wanted,
                            [](char is, char due) { return is == due || is == sent_again; });
}

}  // namespace

std::string_view name_of(OverlapLayer layer) {
  static constexpr std::array<std::string_view, overlap_layers> names{
      "TCP, queued", "TCP, in order", "IPv4", "IPv6"};
  return names.at(static_cast<std::size_t>(layer));
}

std::string_view name_of(OverlapOutcome outcome) {
  static constexpr std::array<std::string_view, overlap_outcomes> names{
      "no overlap",
      "first wins",
      "first wins, part sent again",
      "last wins",
      "last wins, part sent again",
      "mixed",
      "dropped",
      "lost without an overlap"};
  return names.at(static_cast<std::size_t>(outcome));
}

OverlapOutcome outcome_of(const Arrangement& arrangement, std::string_view delivered) {
  using Outcome = OverlapOutcome;
  std::string const first = first_wins(arrangement), last = last_wins(arrangement);
  if (!overlaps(arrangement)) {
    return delivered == first ? Outcome::apart : Outcome::lost;
  }
  if (delivered == nothing_delivered) {
    return Outcome::dropped;
  }
  if (delivered == first || delivered == last) {
    return delivered == first ? Outcome::first : Outcome::last;
  }
  if (is_part(delivered, first)) {
    return Outcome::first_part;
  }
  return is_part(delivered, last) ? Outcome::last_part : Outcome::mixed;
}

std::string overlap_violation(OverlapLayer layer, const Arrangement& arrangement,
                              std::string_view delivered) {
  if (delivered == nothing_delivered) {
    return is_tcp(layer) ? "RFC 9293 3.4: octets are never delivered, though they are sent again"
                         : "";
  }
  for (std::size_t unit = 0; unit < delivered.size(); ++unit) {
    bool sent = delivered[unit] == sent_again && is_tcp(layer);
    for (std::size_t i = 0; i < arrangement.size(); ++i) {
      sent |= covers(arrangement[i], unit) && delivered[unit] == static_cast<char>('A' + i);
    }
    sent |= delivered[unit] == no_chunk && first_wins(arrangement)[unit] == no_chunk;
    if (!sent) {
      return "RFC 9293 1.2: octets are delivered that were not sent at their place";
    }
  }
  if (layer == OverlapLayer::ipv6 && overlaps_partly(arrangement)) {
    return "RFC 8200 4.5: a packet whose fragments overlap is reassembled, not discarded";
  }
  return "";
}

OverlapSession::OverlapSession(const std::filesystem::path& device, OverlapLayer layer)
    : peer_(device), layer_(layer) {
  bool const six = layer == OverlapLayer::ipv6;
  local_ = six ? IpAddress{0xfd00'0000'0000'0000, 1} : IpAddress::v4(10, 0, 0, 1);
  remote_ = six ? IpAddress{0xfd00'0000'0000'0000, 2} : IpAddress::v4(10, 0, 0, 2);
  if (!peer_.about().abilities.contains(six ? "ipv6" : "ipv4")) {
    left_out_ = six ? "it has no IPv6" : "it has no IPv4";
    return;
  }
  for (const char* const call : {"listen", "accept", "receive"}) {
    if (!peer_.about().calls.contains(call)) {
      left_out_ = fmt::format("it has no call {}", call);
      return;
    }
  }
  create();
  if (!left_out_.empty()) {
    return;
  }
  DeviceAnswer const listener = peer_.ask(LOCKSTEP_CALL_LISTEN, listening, 4);
  listener_ = static_cast<std::uint64_t>(listener.result);
  if (listener.result < 0 || !open()) {
    throw DeviceFault(
        fmt::format("device {}: listen: no connection could be opened to it", peer_.about().name));
  }
  // A packet whose fragments do not overlap shows whether the device reassembles at all.
  if (!is_tcp(layer) && deliver({{0, 1}}) == nothing_delivered) {
    left_out_ = "it does not reassemble fragments";
  }
}

OverlapSession::~OverlapSession() = default;

/// Makes the host, with the profile that a user gets, if it has that.
void OverlapSession::create() {
  DeviceAnswer made;
  for (const char* const profile : {"default", "rfc"}) {
    std::string const lines =
        fmt::format("local={}\nremote={}\nmtu=1500\nseed=1\nstart=0\nprofile={}\n",
                    tools::text_of(local_), tools::text_of(remote_), profile);
    made = peer_.ask(LOCKSTEP_CALL_CREATE, 0, 0, lines);
    if (made.result >= 0) {
      return;
    }
  }
  if (made.result != LOCKSTEP_DEVICE_UNSUPPORTED) {
    throw DeviceFault(fmt::format("device {}: create: {}", peer_.about().name, made.octets));
  }
  left_out_ = made.octets;
}

/// Opens a connection from the next port. False: the device did not take it.
bool OverlapSession::open() {
  ++port_;
  opening_ = true;
  reset_ = gone_ = false;
  next_ = Sequence{1'000'000};
  send(segment(wire::flag::syn, next_, ""));
  pass(10 * ms);
  if (opening_ || reset_) {
    return false;
  }
  next_ = next_.next();
  send(segment(wire::flag::ack, next_, ""));
  pass(10 * ms);
  DeviceAnswer const accepted = peer_.ask(LOCKSTEP_CALL_ACCEPT, listener_);
  connection_ = static_cast<std::uint64_t>(accepted.result);
  return accepted.result > 0;
}

/// The TCP segment that has these letters as its data.
std::string OverlapSession::segment(wire::Flags flags, Sequence at,
                                    std::string_view letters) const {
  std::string const octets = octets_of(letters);
  wire::Segment out;
  out.source = Port{port_};
  out.destination = Port{listening};
  out.sequence = at;
  out.acknowledgment = flags.ack() ? acked_ : Sequence{0};
  out.flags = flags;
  out.window = WireWindow{window};
  out.payload = std::as_bytes(std::span(octets));
  std::vector<std::byte> bytes(wire::tcp_header_bytes + octets.size());
  sim::write_segment(out, {remote_, local_}, bytes);
  return bytes_of(bytes);
}

/// Sends a packet with this payload, or a fragment of one.
void OverlapSession::send(std::string_view payload, const wire::Ipv6Fragment& part) {
  constexpr auto tcp = static_cast<std::uint8_t>(wire::IpProtocol::tcp);
  constexpr std::uint8_t fragment = 44, hops = 64;
  auto const length = static_cast<std::uint32_t>(payload.size());
  std::array<std::byte, wire::ipv6_header_bytes + wire::ipv6_fragment_bytes> header{};
  std::uint32_t used = 0;
  if (local_.is_v4()) {
    wire::Ipv4Header out;
    out.source = remote_;
    out.destination = local_;
    out.protocol = wire::IpProtocol::tcp;
    out.time_to_live = hops;
    out.more_fragments = part.more;
    out.fragment_offset = part.offset;
    out.identification = static_cast<std::uint16_t>(part.identification);
    used = wire::write(out, Bytes{length}, header).count;
  } else {
    used = wire::ipv6_header_bytes + (part.is_atomic() ? 0 : wire::ipv6_fragment_bytes);
    wire::Ipv6Header const out{remote_, local_, part.is_atomic() ? tcp : fragment, hops, 0, 0};
    wire::write(out, Bytes{length + used - wire::ipv6_header_bytes}, header);
    if (!part.is_atomic()) {
      std::byte* const at = header.data() + wire::ipv6_header_bytes;
      wire::store8(at, tcp);
      wire::store16(at + 2, static_cast<std::uint16_t>(part.offset << 3 | (part.more ? 1 : 0)));
      wire::store32(at + 4, part.identification);
    }
  }
  std::string packet = bytes_of(std::span(header).first(used));
  packet += payload;
  note(peer_.ask(LOCKSTEP_CALL_PACKET, 0, 0, packet));
  pass(0);
}

/// Looks at what the device sent.
void OverlapSession::note(const DeviceAnswer& answer) {
  now_ = std::max(now_, answer.now);
  std::size_t const header = local_.is_v4() ? wire::ipv4_header_bytes : wire::ipv6_header_bytes;
  std::size_t const protocol = local_.is_v4() ? 9 : 6;
  for (auto const& packet : answer.packets) {
    constexpr auto tcp = static_cast<std::byte>(wire::IpProtocol::tcp);
    wire::Segment found;
    if (packet.size() < header || packet[protocol] != tcp ||
        wire::parse(std::span(packet).subspan(header), found) != Drop::none ||
        found.destination.value != port_) {
      continue;
    }
    reset_ |= found.flags.rst();
    if (opening_ && found.flags.syn()) {
      opening_ = false;
      acked_ = found.sequence.next();
    }
  }
}

/// Lets time pass; the device sends what it has to send.
void OverlapSession::pass(std::uint64_t ns) {
  std::uint64_t const until = now_ + ns;
  for (std::uint32_t i = 0; i < turns_max; ++i) {
    DeviceAnswer const answer = peer_.ask(LOCKSTEP_CALL_ADVANCE, until);
    note(answer);
    if (answer.packets.empty() && now_ >= until) {
      return;
    }
  }
  throw DeviceFault(fmt::format("device {}: advance: it sends without end", peer_.about().name));
}

/// Appends what the device delivers now.
void OverlapSession::read(std::string& into) {
  constexpr std::uint64_t most = 65'536;
  while (true) {
    DeviceAnswer const answer = peer_.ask(LOCKSTEP_CALL_RECEIVE, connection_, most);
    if (answer.result <= 0) {
      gone_ |= answer.result == 0 || answer.result == LOCKSTEP_DEVICE_GONE;
      return;
    }
    into += answer.octets;
  }
}

/// Sends units of the stream; unit `begin` is the first. The head is in front of unit 0.
void OverlapSession::send_letters(std::size_t begin, std::string_view letters) {
  auto const before = static_cast<std::uint32_t>(head_octets + begin * unit_octets);
  send(segment(wire::flag::ack | wire::flag::psh, next_ + Bytes{before}, letters));
}

std::string OverlapSession::deliver(const Arrangement& arrangement) {
  if (reset_ || gone_) {
    peer_.ask(LOCKSTEP_CALL_ABORT, connection_);
    pass(second);
    if (!open()) {
      throw DeviceFault(
          fmt::format("device {}: listen: it takes no connection any more", peer_.about().name));
    }
  }
  return is_tcp(layer_) ? deliver_segments(arrangement) : deliver_fragments(arrangement);
}

std::string OverlapSession::deliver_segments(const Arrangement& arrangement) {
  std::size_t const units = length_of(arrangement);
  std::size_t const octets = head_octets + units * unit_octets;
  Sequence const begin = next_;
  auto const head = [&] {
    send(segment(wire::flag::ack | wire::flag::psh, begin, std::string(1, head_letter)));
  };
  std::string got;
  if (layer_ == OverlapLayer::tcp_in_order) {
    head();
  }
  for (std::size_t i = 0; i < arrangement.size(); ++i) {
    Chunk const& chunk = arrangement[i];
    send_letters(chunk.begin, std::string(chunk.end - chunk.begin, static_cast<char>('A' + i)));
    read(got);
  }
  for (Chunk const& gap : gaps_of(arrangement)) {
    send_letters(gap.begin, std::string(1, no_chunk));
  }
  if (layer_ == OverlapLayer::tcp_queued) {
    head();
  }
  read(got);
  // As a sender would: what is not acknowledged is sent again, unit by unit, the earliest first.
  for (std::size_t round = 0; round <= units && got.size() < octets; ++round) {
    pass(second);
    if (got.size() < head_octets) {
      head();
    } else {
      send_letters((got.size() - head_octets) / unit_octets, std::string(1, sent_again));
    }
    read(got);
  }
  next_ = next_ + Bytes{static_cast<std::uint32_t>(octets)};
  // Acknowledgments that were delayed leave before the next arrangement begins.
  pass(second);
  if (got.size() != octets) {
    reset_ = true;  // the streams are no longer in step: the next arrangement has a new connection
    return std::string(nothing_delivered);
  }
  return letters_of(got, units);
}

std::string OverlapSession::deliver_fragments(const Arrangement& arrangement) {
  std::size_t const units = length_of(arrangement);
  // Their first fragment has the header and the head, the last one the tail.
  std::string const letters = head_letter + std::string(units, no_chunk) + tail_letter;
  std::string datagram = segment(wire::flag::ack | wire::flag::psh, next_, letters);
  constexpr std::size_t first = (wire::tcp_header_bytes + head_octets) / unit_octets;
  ++identification_;
  auto const part = [&](std::size_t at, std::string_view octets, bool more) {
    send(octets, {identification_, static_cast<std::uint16_t>(at), more});
  };
  std::string_view const whole = datagram;
  part(0, whole.substr(0, first * unit_octets), true);
  for (std::size_t i = 0; i < arrangement.size(); ++i) {
    Chunk const& chunk = arrangement[i];
    std::string const data(chunk.end - chunk.begin, static_cast<char>('A' + i));
    part(first + chunk.begin, octets_of(data), true);
  }
  for (Chunk const& gap : gaps_of(arrangement)) {
    part(first + gap.begin, octets_of(std::string(1, no_chunk)), true);
  }
  part(first + units, octets_of(std::string(1, tail_letter)), false);
  std::string got;
  read(got);
  if (got.empty()) {
    // It keeps fragments for a while: none may be left for the next arrangement.
    pass(reassembly);
    read(got);
  } else {
    pass(second);
  }
  if (got.empty()) {
    return std::string(nothing_delivered);
  }
  next_ = next_ + Bytes{static_cast<std::uint32_t>(got.size())};
  std::string out = letters_of(got, units + 1);
  if (got.size() != head_octets + (units + 1) * unit_octets || out.back() != tail_letter) {
    return std::string(units, wrong_octets);
  }
  out.pop_back();
  return out;
}

}  // namespace lockstep::conformance
