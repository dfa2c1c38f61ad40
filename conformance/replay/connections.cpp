// Finds where each connection of a port pair begins and ends, and bounds the memory used.
#include "conformance/replay/connections.hpp"

#include <algorithm>
#include <vector>

#include "conformance/replay/circle.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

/// Segments that arrive within this time after the end still belong to the connection.
constexpr Duration lingering = Duration::seconds(3);

std::uint64_t bytes_of(const Segment& segment) {
  return sizeof(Segment) + segment.payload.capacity() + segment.options.capacity();
}

/// Linux keeps the ports of a closed connection for this long. A connection that was silent as long
/// may have ended without the capture showing it.
constexpr Duration kept_after_close = Duration::seconds(60);
/// Segments that were under way when a reset passed, and their replies, arrive within this time.
constexpr Duration kept_after_reset = Duration::milliseconds(500);
/// The largest difference between sequence numbers of one connection.
constexpr std::uint32_t near_most = 1U << 24;

bool has_reached(std::uint32_t next, std::uint32_t number) {
  return at_or_before(number, next) && next - number <= near_most;
}

bool is_near(std::uint32_t next, std::uint32_t number) {
  return next - number <= near_most || number - next <= near_most;
}

/// Whether the segment continues the connection: it begins where data is expected or
/// unacknowledged, and its ACK number is valid.
bool goes_on(const Connection& old, const Segment& segment, std::size_t side) {
  std::uint32_t const next = old.next[side];
  bool const again = old.has_acked[1 - side] && segment.sequence == old.acked[1 - side];
  bool const here = segment.sequence == next || segment.sequence + 1 == next || again;
  return here && has_reached(old.next[1 - side], segment.acknowledgment) &&
         (!old.has_acked[side] || at_or_before(old.acked[side], segment.acknowledgment));
}

/// Whether the SYN was answered by a reset alone, so that no connection was opened. A later
/// segment, or one with distant numbers, belongs to another connection.
bool was_refused(const Connection& old, const Segment& segment, std::size_t side) {
  if (!old.reset || segment.any(flag::syn)) {
    return false;
  }
  bool const one = !old.has_next[side] || is_near(old.next[side], segment.sequence);
  bool const two = !old.has_next[1 - side] || is_near(old.next[1 - side], segment.acknowledgment);
  return !one || !two || segment.time.since(old.last) > kept_after_reset;
}

/// Whether the segment belongs to a later connection of the same ports whose SYN is not in the
/// capture. Its numbers may lie anywhere, even among those of the earlier connection.
bool is_foreign(const Connection& old, const Segment& segment) {
  std::size_t const side = old.flow.first == segment.source ? 0 : 1;
  if (!segment.any(flag::ack) || segment.any(flag::rst)) {
    return false;
  }
  if (!old.has_next[0] || !old.has_next[1]) {
    return was_refused(old, segment, side);
  }
  if (segment.any(flag::syn)) {
    return old.has_ended() && old.has_syn[side] && old.syn[side] != segment.sequence;
  }
  std::uint32_t const next = old.next[side];
  std::uint32_t const other = old.next[1 - side];
  Duration const silent = segment.time.since(old.last);
  bool const closed = old.fin[0] && old.fin[1];
  bool const long_ago = silent > kept_after_close || (old.reset && silent > kept_after_reset);
  if (long_ago) {
    return !goes_on(old, segment, side);
  }
  if (closed) {
    return !has_reached(next, segment.sequence) && !has_reached(other, segment.acknowledgment);
  }
  // Segments that were under way follow a reset, and continue from the last number seen.
  bool const one = is_near(next, segment.sequence);
  bool const two = is_near(other, segment.acknowledgment);
  return old.reset ? !one || !two : !one && !two;
}

/// Whether a SYN with the number of the connection's first one comes so late that it is no copy of
/// that: behind the sender's FIN, or in a silence after data of either side. So it does where hosts
/// without a clock have started again.
bool is_later(const Connection& old, const Segment& segment, std::size_t side) {
  constexpr Duration a_second = Duration::seconds(1);
  const auto spoke = [&old](std::size_t of) {
    return old.has_syn[of] && old.has_next[of] && old.next[of] != old.syn[of] + 1;
  };
  return old.fin[side] || ((spoke(0) || spoke(1)) && segment.time.since(old.last) > a_second);
}

}  // namespace

void ConnectionReader::read(const std::string& path) {
  tools::CaptureReader reader(path);
  tools::CapturedFrame frame;
  while (reader.next(frame)) {
    ++packets_;
    began_ = began_ ? began_ : frame.time;
    tools::Decoded decoded = tools::decode(frame, reader.link());
    ++kinds_[static_cast<std::size_t>(decoded.kind)];
    take(std::move(decoded));
  }
  warning_ = reader.warning();
  finish();
}

void ConnectionReader::take(tools::Decoded&& decoded) {
  filter_.take(decoded);
  if (decoded.kind == tools::FrameKind::icmp_error) {
    const auto& icmp = decoded.icmp;
    auto const found = open_.find(std::minmax(icmp.quoted_source, icmp.quoted_destination));
    if (found != open_.end() && !found->second->is_judged &&
        found->second->flow.errors.size() < limits_.segments_max) {
      kept_ += sizeof(tools::IcmpError) + icmp.message.size();
      found->second->bytes += sizeof(tools::IcmpError) + icmp.message.size();
      found->second->flow.errors.push_back(std::move(decoded.icmp));
    }
  }
  if (decoded.kind == tools::FrameKind::tcp) {
    Segment& segment = decoded.segment;
    began_ = began_ ? began_ : segment.time;
    now_ = later(now_, segment.time);
    Key const key = std::minmax(segment.source, segment.destination);
    add(place_of(key, segment), std::move(segment));
  }
  if (kept_ > limits_.total_max || all_.size() > relieved_at_ + limits_.closed_max) {
    relieve();
  }
}

ConnectionReader::Place ConnectionReader::begin(const Key& key, const Segment& segment) {
  ++count_;
  all_.emplace_back(segment.source, segment.destination, began_);
  Place const place = std::prev(all_.end());
  open_.insert_or_assign(key, place);
  return place;
}

/// A SYN with another number begins another connection: at once if the earlier one has ended,
/// otherwise as soon as it is answered as the start of a connection.
ConnectionReader::Place ConnectionReader::place_of(const Key& key, const Segment& segment) {
  auto const found = open_.find(key);
  if (found == open_.end()) {
    return begin(key, segment);
  }
  Place const place = found->second;
  std::size_t const side = place->flow.first == segment.source ? 0 : 1;
  bool const sound = segment.sum != tools::SumState::bad || place->is_edited();
  bool const asks = sound && segment.any(flag::syn) && !segment.any(flag::ack | flag::rst);
  // With the same number it is a retransmission or a late copy, unless another SYN answers it: that
  // of a host that has started again.
  bool const same = asks && place->has_syn[side] && place->syn[side] == segment.sequence;
  bool const other = asks && (place->has_syn[side] ? !same || place->has_ended()
                                                   : place->segments != 0 && place->has_ended());
  if ((other && (place->has_ended() || place->is_judged)) ||
      (sound && is_foreign(*place, segment))) {
    return begin(key, segment);
  }
  // Of a SYN that is sent several times the first one begins the connection.
  bool const once_more = same && place->reopens_late && place->reopens_by == side &&
                         place->reopens_with == segment.sequence;
  if (!once_more && (other || (same && place->has_syn[1 - side]))) {
    place->reopens = place->flow.segments.size();
    place->reopens_with = segment.sequence;
    place->reopens_by = side;
    place->reopens_late = is_later(*place, segment, side);
  }
  // The answer may be missing: a side that continues after its SYN has received one.
  bool const repeated =
      place->has_syn[place->reopens_by] && place->syn[place->reopens_by] == place->reopens_with;
  bool const anew = !repeated || place->syn[side] != segment.sequence || place->reopens_late;
  bool const answered =
      segment.any(flag::syn)
          ? segment.acknowledgment == place->reopens_with + 1 && anew
          : segment.sequence == place->reopens_with + 1 && place->reopens_by == side && !repeated;
  bool const answers =
      sound && segment.any(flag::ack) && !segment.any(flag::rst) && place->reopens != 0 && answered;
  if (answers && !place->is_judged) {
    split(place, key);
    return open_.at(key);
  }
  return place;
}

/// Moves the segments from the SYN on out of the earlier connection.
void ConnectionReader::split(Place old, const Key& key) {
  auto& segments = old->flow.segments;
  std::vector<Segment> moved(
      std::make_move_iterator(segments.begin() + static_cast<std::ptrdiff_t>(old->reopens)),
      std::make_move_iterator(segments.end()));
  segments.resize(old->reopens);
  Place const fresh = begin(key, moved.front());
  for (Segment& segment : moved) {
    old->bytes -= std::min(old->bytes, bytes_of(segment));
    kept_ -= std::min(kept_, bytes_of(segment));
    old->octets -= segment.payload.size();
    --old->segments;
    add(fresh, std::move(segment));
  }
}

void ConnectionReader::account(Connection& connection, const Segment& segment) {
  std::size_t const side = connection.flow.first == segment.source ? 0 : 1;
  ++connection.segments;
  connection.last = segment.time;
  bool const wrong = segment.sum == tools::SumState::bad;
  ++(wrong ? connection.wrong : connection.sound);
  if (wrong && !connection.is_edited()) {
    return;
  }
  if (!segment.any(flag::rst) &&
      (!connection.has_next[side] || before(connection.next[side], segment.end()))) {
    connection.has_next[side] = true;
    connection.next[side] = segment.end();
  }
  if (segment.any(flag::ack) && !segment.any(flag::rst)) {
    connection.has_acked[side] = true;
    connection.acked[side] = segment.acknowledgment;
  }
  if (segment.any(flag::syn) && !connection.has_syn[side]) {
    connection.has_syn[side] = true;
    connection.syn[side] = segment.sequence;
  }
  connection.fin[side] |= segment.any(flag::fin);
  connection.reset |= segment.any(flag::rst);
}

void ConnectionReader::add(Place place, Segment&& segment) {
  account(*place, segment);
  if (place->is_judged) {
    ++place->later;
    place->watch.take(segment);
    return;
  }
  std::uint64_t const bytes = bytes_of(segment);
  kept_ += bytes;
  place->bytes += bytes;
  place->octets += segment.payload.size();
  place->flow.segments.push_back(std::move(segment));
  if (place->flow.segments.size() >= limits_.segments_max || place->octets > limits_.octets_max) {
    judge(*place);
  }
}

void ConnectionReader::judge(Connection& connection) {
  connection.is_judged = true;
  connection.judged_until = connection.flow.segments.back().number;
  std::uint64_t const bytes = connection.bytes;
  connection.flow.unfiltered = {filter_.is_unfiltered(connection.flow.second.address),
                                filter_.is_unfiltered(connection.flow.first.address)};
  handlers_.judge(connection);
  connection.flow.segments = {};
  connection.flow.errors = {};
  connection.bytes = 0;
  kept_ -= std::min(kept_, bytes);
}

ConnectionReader::Place ConnectionReader::close(Place place) {
  if (!place->is_judged) {
    judge(*place);
  }
  handlers_.done(*place);
  auto const key = std::minmax(place->flow.first, place->flow.second);
  auto const found = open_.find(key);
  if (found != open_.end() && found->second == place) {
    open_.erase(found);
  }
  return all_.erase(place);
}

/// Ends the longest silent half of the connections: in a SYN flood each SYN is a connection that
/// never ends.
void ConnectionReader::close_silent() {
  std::vector<Instant> times;
  times.reserve(all_.size());
  for (const Connection& connection : all_) {
    times.push_back(connection.last);
  }
  auto const middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  Instant const until = *middle;
  for (auto place = all_.begin(); place != all_.end();) {
    place = place->last <= until ? close(place) : std::next(place);
  }
}

/// Ends the closed connections. If that frees too little, judges the largest others by the segments
/// kept so far.
void ConnectionReader::relieve() {
  for (auto place = all_.begin(); place != all_.end();) {
    bool const over = place->has_ended() && now_.since(place->last) > lingering;
    if (!over) {
      ++place;
      continue;
    }
    place = close(place);
  }
  if (all_.size() > limits_.open_max) {
    close_silent();
  }
  while (kept_ > limits_.total_max / 2) {
    std::uint64_t const mean = kept_ / std::max<std::size_t>(all_.size(), 1);
    for (Connection& connection : all_) {
      if (connection.bytes != 0 && connection.bytes >= mean) {
        judge(connection);
      }
    }
  }
  relieved_at_ = all_.size();
}

void ConnectionReader::finish() {
  for (auto place = all_.begin(); place != all_.end(); place = all_.erase(place)) {
    if (!place->is_judged) {
      judge(*place);
    }
    handlers_.done(*place);
  }
  open_.clear();
}

}  // namespace lockstep::conformance
