// Certain findings about SACK blocks: octets that do not exist, or that were sent only later.
#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"
#include "conformance/replay/watch.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;

}  // namespace

/// A D-SACK of the octets that the other side seems to have sent for the first time: they had
/// arrived before.
void Watch::forgive_report(Side& side, const Side& other, const Segment& segment) {
  auto const blocks = blocks_of(segment);
  if (!side.unsent || !reports_duplicate(segment.acknowledgment, blocks)) {
    return;
  }
  std::int64_t const left = position(other.next, blocks.front().left);
  if (left < side.unsent->second && side.unsent->first < position(left, blocks.front().right)) {
    std::erase_if(side.findings, [](const Finding& finding) {
      return finding.clause == "2018:SACK-14" && !finding.always;
    });
  }
}

/// Whether no octets can have these numbers, whatever the capture lacks. Their order in the header
/// may be wrong: then the block is longer than any window. Or they count from the beginning of the
/// connection: a firewall that changes sequence numbers, but not those of blocks, changes them by a
/// random number.
bool Watch::is_nonsense(const Side& other, const Segment& segment, const Block& block) {
  constexpr std::uint32_t window_most = 1u << 30;
  constexpr std::int64_t near = 1 << 20;
  std::uint32_t const length = block.right - block.left;
  if (length > window_most) {
    return true;
  }
  std::int64_t const ack = position(other.next, segment.acknowledgment);
  std::int64_t const left = position(ack, block.left);
  std::int64_t const counted = position(ack, block.left + static_cast<std::uint32_t>(other.isn));
  bool const exists = left >= other.isn && left <= other.next + near;
  return other.syn && length != 0 && !exists && counted >= ack && counted + length <= ack + near;
}

void Watch::note_nonsense(Side& side, const Segment& segment, const Block& block) {
  constexpr unsigned nonsense_min = 3;
  if (side.nonsense != 0 && side.nonsense_last == block) {
    return;  // perhaps a copy of the packet
  }
  side.nonsense_packet = side.nonsense == 0 ? segment.number : side.nonsense_packet;
  side.nonsense_last = block;
  if (++side.nonsense >= nonsense_min) {
    find(side, {side.nonsense_packet, packet_, "2018:SACK-14", "SACK of octets that do not exist",
                1, true});
  }
}

/// SACK of octets that the other side had not sent: it sends them later, in order.
void Watch::look_at_reports(Side& side, Side& other, const Segment& segment) {
  forgive_report(side, other, segment);
  if (!other.known) {
    return;
  }
  bool nonsense = false;
  for (const Block& block : blocks_of(segment)) {
    if (is_nonsense(other, segment, block)) {
      if (!nonsense) {
        note_nonsense(side, segment, block);
      }
      nonsense = true;
      continue;
    }
    std::int64_t const right = position(other.next, block.right);
    // One that lies further right may never be reached.
    bool const nearest = !side.reported || right < *side.reported;
    if (nearest && right > other.next && position(other.next, block.left) < right) {
      side.reported = right;
      side.reported_begin = position(other.next, block.left);
      side.reported_packet = segment.number;
      side.reported_at = segment.time;
      other.unbroken = other.identification != 0;
      auto const stamps = stamps_of(segment);
      side.reported_stamp = stamps ? std::optional(stamps->value) : std::nullopt;
    }
  }
}

/// Whether the segment is no retransmission of one that the capture lacks, and that the report is
/// about: its sender had received the report, or the capture lacks none of its packets.
bool Watch::knows_report(const Side& reporter, const Side& side, const Segment& segment) {
  auto const stamps = stamps_of(segment);
  // An equal timestamp may be that of a segment before the report.
  bool const received =
      reporter.reported_stamp && stamps && before(*reporter.reported_stamp, stamps->echo);
  return received || side.unbroken;
}

/// Compares what the side sends with what the other side has reported.
void Watch::settle_report(Side& side, Side& other, const Segment& segment, std::int64_t begin) {
  std::int64_t const end = begin + segment.length();
  if (!other.reported || end <= side.next) {
    return;
  }
  // An ACK of a higher number counts as well: the data before it was sent, and the capture lacks
  // it.
  bool const whole = begin == side.next && !side.lossy && side.syn;
  bool const late = segment.time.since(other.reported_at) > disorder;
  if (whole && end >= *other.reported && late && knows_report(other, side, segment)) {
    find(other, other.reported_packet, "2018:SACK-14", "SACK of octets that the peer sent later");
    other.unsent = {other.reported_begin, *other.reported};
  }
  if (!whole || end >= *other.reported) {
    other.reported.reset();
  }
}

}  // namespace lockstep::conformance
