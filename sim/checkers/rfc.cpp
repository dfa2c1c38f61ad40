// Judges each segment that a host sends by what it has heard before.
#include "sim/checkers/rfc.hpp"

#include <algorithm>

#include "core/units/hash.hpp"

namespace lockstep::sim {
namespace {

// No host is asked to send less in a segment than this, whatever the peer's MSS option says.
constexpr std::uint32_t mss_least = 28;
constexpr std::uint32_t mss_default = 536;

bool within(Sequence value, Sequence begin, Sequence end) {
  return begin.at_or_before(value) && value.at_or_before(end);
}

std::uint64_t hash_of(HostIndex host, const FourTuple& tuple) {
  TableHash hash({});
  hash.add(host.value);
  hash.add(tuple.local.address.low).add(tuple.remote.address.low);
  hash.add(std::uint64_t{tuple.local.port.value} << 16 | tuple.remote.port.value);
  return hash.finish();
}

// The unit in which this host's windows are told: 1 unless both SYNs name a scale.
std::uint32_t unit_of(const Conversation& c, const wire::Segment& segment) {
  bool scaled = c.scaled && !segment.flags.syn();
  for (std::uint32_t i = 0; i < c.opening_count; ++i) {
    scaled = scaled && c.openings[i].scaled;
  }
  return scaled && c.opening_count != 0 ? 1u << c.scale.shift : 1;
}

// The largest unit that the peer's windows may have: of two SYNs nobody knows which one counts.
std::uint32_t largest_unit_of(const Conversation& c, const wire::Segment& segment) {
  std::uint32_t largest = 1;
  for (std::uint32_t i = 0; i < c.opening_count; ++i) {
    Conversation::Opening const& opening = c.openings[i];
    bool const scaled = c.scaled && opening.scaled && !segment.flags.syn();
    largest = std::max(largest, scaled ? 1u << opening.scale.shift : 1u);
  }
  return largest;
}

// Whether it is unknown if windows are scaled: the peer's SYNs differ in it.
bool scale_unsure(const Conversation& c) {
  for (std::uint32_t i = 1; i < c.opening_count; ++i) {
    if (c.scaled && c.openings[i].scaled != c.openings[0].scaled) {
      return true;
    }
  }
  return c.scaled && c.openings_lost;
}

Bytes text_of(const wire::Segment& segment) {
  return {static_cast<std::uint32_t>(segment.payload.size())};
}

}  // namespace

std::uint32_t RfcChecker::place_of(HostIndex host, const FourTuple& tuple) const {
  auto const mask = static_cast<std::uint32_t>(places_.size() - 1);
  auto at = static_cast<std::uint32_t>(hash_of(host, tuple)) & mask;
  while (places_[at] != 0) {
    Conversation const& c = conversations_[places_[at] - 1];
    if (c.host == host && c.tuple == tuple) {
      break;
    }
    at = (at + 1) & mask;
  }
  return at;
}

void RfcChecker::grow() {
  places_.assign(places_.empty() ? 64 : places_.size() * 2, 0);
  for (std::uint32_t i = 0; i < conversations_.size(); ++i) {
    places_[place_of(conversations_[i].host, conversations_[i].tuple)] = i + 1;
  }
}

Conversation& RfcChecker::conversation(HostIndex host, const FourTuple& tuple) {
  if ((conversations_.size() + 1) * 2 > places_.size()) {
    grow();
  }
  std::uint32_t& place = places_[place_of(host, tuple)];
  if (place == 0) {
    Conversation fresh;
    fresh.host = host;
    fresh.tuple = tuple;
    conversations_.push_back(fresh);
    place = static_cast<std::uint32_t>(conversations_.size());
  }
  return conversations_[place - 1];
}

void RfcChecker::report(const Heard& said, std::string_view what, std::uint64_t expected,
                        std::uint64_t found) {
  findings_.add({CheckerKind::rfc, said.at, world_.hosts[said.host.value].name, what, expected,
                 found});
}

void RfcChecker::sent(const Kernel&, const FrameNote& note) {
  if (note.node.kind != NodeKind::host) {
    return;
  }
  HostSpec const& host = world_.hosts[note.node.index];
  SegmentView view;
  FrameContent const content = read_frame(host.config.link, note.bytes, view);
  Heard const said{{note.node.index}, note.at, view};
  if (content == FrameContent::malformed) {
    report(said, "a frame that no peer could read was sent", 0, note.bytes.size());
  }
  if (content == FrameContent::tcp) {
    judge_sent(said);
  }
}

void RfcChecker::delivered(const Kernel&, const FrameNote& note) {
  if (note.node.kind != NodeKind::host) {
    return;
  }
  SegmentView view;
  LinkType const link = world_.hosts[note.node.index].config.link;
  if (read_frame(link, note.bytes, view) == FrameContent::tcp) {
    judge_heard({{note.node.index}, note.at, view});
  }
}

void RfcChecker::judge_heard(const Heard& heard) {
  wire::Segment const& segment = heard.view.segment;
  Conversation& c = conversation(heard.host, {heard.view.destination, heard.view.source});
  ++c.heard_segments;
  if (segment.flags.syn()) {
    open(c, segment);
  }
  for (std::uint32_t i = 0; i < c.opening_count; ++i) {
    Conversation::Opening& opening = c.openings[i];
    if (segment.end().after(opening.irs)) {
      opening.heard = last_of(opening.heard, segment.end());
    }
  }
  c.text.add(segment.flags.syn() ? segment.sequence.next() : segment.sequence, text_of(segment));
  // What a host would believe: an ACK of something that it has sent.
  if (c.begun && segment.flags.ack() && within(segment.acknowledgment, c.iss, c.sent)) {
    Bytes const window{segment.window.value * largest_unit_of(c, segment)};
    c.widest = c.has_edge ? most(c.widest, window) : window;
    // A segment from before SND.WL1 moves SND.UNA but not SND.WND (RFC 9293 3.10.7.4).
    bool const late = c.has_edge && segment.sequence.before(c.latest);
    Sequence const edge = segment.acknowledgment + (late ? c.widest : window);
    c.latest = c.has_edge ? last_of(c.latest, segment.sequence) : segment.sequence;
    c.edge = c.has_edge ? last_of(c.edge, edge) : edge;
    c.has_edge = true;
  }
}

// A SYN of the same number as one before may offer something else, and be the one that is taken.
void RfcChecker::open(Conversation& c, const wire::Segment& syn) {
  Bytes const mss{syn.options.has_mss ? syn.options.mss : mss_default};
  for (std::uint32_t i = 0; i < c.opening_count; ++i) {
    if (c.openings[i].irs == syn.sequence) {
      Conversation::Opening& opening = c.openings[i];
      opening.mss = most(opening.mss, mss);
      opening.sack = opening.sack || syn.options.has_sack_permitted;
      opening.window = most(opening.window, Bytes{syn.window.value});
      opening.scale = std::max(opening.scale, syn.options.window_scale);
      c.openings_lost = c.openings_lost || opening.scaled != syn.options.has_window_scale;
      return;
    }
  }
  if (c.opening_count == Conversation::openings_max) {
    c.openings_lost = true;
  } else {
    c.openings[c.opening_count++] = {syn.sequence, syn.end(), mss, syn.options.has_window_scale,
                                     syn.options.window_scale, syn.options.has_sack_permitted,
                                     Bytes{syn.window.value}};
  }
}

void RfcChecker::begin(Conversation& c, const wire::Segment& segment) {
  if (!c.begun || c.iss != segment.sequence) {
    c.has_former = c.begun;
    c.former = c.sent;
    c.begun = true;
    c.iss = segment.sequence;
    c.sack = false;
    c.sent = segment.end();
    c.has_edge = false;
    c.offered = false;
    c.fin_sent = false;
  }
}

namespace {

// An ACK of a SYN and of nothing more, before anything else was sent.
bool acks_syn_alone(const Conversation& c, const wire::Segment& segment) {
  bool alone = false;
  for (std::uint32_t i = 0; i < c.opening_count; ++i) {
    alone = alone || c.openings[i].irs.next() == segment.acknowledgment;
  }
  return alone && segment.sequence == c.iss.next() && segment.length().empty();
}

}  // namespace

void RfcChecker::judge_sent(const Heard& said) {
  wire::Segment const& segment = said.view.segment;
  Conversation& c = conversation(said.host, {said.view.source, said.view.destination});
  judge_flags(said);
  if (segment.flags.rst()) {
    return;
  }
  if (segment.flags.syn()) {
    begin(c, segment);
    c.scaled = segment.options.has_window_scale;
    c.scale = segment.options.window_scale;
    c.sack = c.sack || segment.options.has_sack_permitted;
  }
  // Cookies may have been sent for SYNs of several numbers, and any of them be taken up: of such a
  // conversation nobody can say from outside where it is.
  bool const answers = segment.flags.syn() && segment.flags.ack();
  tcp::Config const& config = world_.hosts[said.host.value].config.tcp;
  bool const cookies = config.syn_cookies != tcp::SynCookies::off;
  c.many_answers = answers ? c.many_answers || (cookies && c.has_former) : c.many_answers;
  c.many_answers = c.many_answers && (answers || !segment.flags.syn());
  if (c.many_answers) {
    return;
  }
  bool const old = c.has_former && segment.sequence == c.former && segment.length().empty();
  // What a cookie or the SYN cache answers waits with the replies, and the connection that it has
  // become meanwhile may overtake it.
  bool const cached = config.syn_cache_max.value != 0 && (answers || acks_syn_alone(c, segment));
  bool const overtaken = ((answers && cookies) || cached) && c.offered &&
                         c.last_ack.after(segment.acknowledgment);
  if (!c.begun || old || overtaken) {
    return;
  }
  judge_limits(said, c);
  judge_ack(said, c);
  judge_blocks(said, c);
  judge_edge(said, c);
  judge_text(said, c);
}

void RfcChecker::judge_flags(const Heard& said) {
  wire::Flags const flags = said.view.segment.flags;
  if (flags.syn() && flags.any_of(wire::flag::fin | wire::flag::rst)) {
    report(said, "a SYN with FIN or RST", 0, flags.bits);
  }
  if (flags.rst() && flags.fin()) {
    report(said, "a RST with FIN", 0, flags.bits);
  }
  //= rfc9293#3.8
  //# 9293:P-ACK-ALWAYS every segment carries an ACK, but for the first and some resets
  if (!flags.any_of(wire::flag::syn | wire::flag::rst | wire::flag::ack)) {
    report(said, "a segment without ACK, SYN or RST", wire::flag::ack.bits, flags.bits);
  }
}

// Nothing is sent beyond the peer's window, with a gap before it, or after our FIN.
void RfcChecker::judge_text(const Heard& said, Conversation& c) {
  wire::Segment const& segment = said.view.segment;
  Sequence const text_end = segment.sequence + text_of(segment);
  // What finds no next hop counts as sent and lost: only where none has to be found is a gap wrong.
  Config const& config = world_.hosts[said.host.value].config;
  bool const hop_known = config.link == LinkType::ip || config.static_neighbour_count.value != 0;
  bool const gap = segment.sequence.after(c.sent) && hop_known;
  if (segment.sequence.before(c.iss) || gap) {
    report(said, "a segment begins beyond all that was sent before", c.sent.value,
           segment.sequence.value);
    return;
  }
  bool const probe = segment.payload.size() == 1 && c.has_edge && segment.sequence == c.edge;
  // A cookie lets text go with a SYN, and before a SYN was answered as far as that SYN offers.
  bool const opens = segment.flags.syn() && !segment.flags.ack() && config.tcp.fast_open_client &&
                     segment.options.cookie_bytes != 0;
  Sequence edge = c.has_edge ? c.edge : c.iss;
  for (std::uint32_t i = 0; i < c.opening_count && config.tcp.fast_open_server; ++i) {
    edge = last_of(edge, c.iss.next() + c.openings[i].window);
  }
  if (!segment.payload.empty() && !probe && !opens && text_end.after(edge)) {
    report(said, "text beyond the window that the peer offered", edge.value, text_end.value);
  }
  if (c.fin_sent && segment.end().after(c.fin_end)) {
    report(said, "sequence numbers beyond our FIN", c.fin_end.value, segment.end().value);
  }
  c.sent = last_of(c.sent, segment.end());
  if (segment.flags.fin()) {
    c.fin_sent = true;
    c.fin_end = segment.end();
  }
}

void RfcChecker::judge_limits(const Heard& said, const Conversation& c) {
  HostSpec const& host = world_.hosts[said.host.value];
  if (said.view.packet_bytes > host.config.mtu.count) {
    report(said, "a packet is larger than the link's MTU", host.config.mtu.count,
           said.view.packet_bytes);
  }
  if (c.opening_count == 0 || c.openings_lost) {
    return;
  }
  Bytes most{mss_least};
  for (std::uint32_t i = 0; i < c.opening_count; ++i) {
    most = c.openings[i].mss > most ? c.openings[i].mss : most;
  }
  if (text_of(said.view.segment) > most) {
    report(said, "more text in a segment than the peer's MSS allows", most.count,
           said.view.segment.payload.size());
  }
}

// Nothing is acknowledged that was not heard.
void RfcChecker::judge_ack(const Heard& said, const Conversation& c) {
  wire::Segment const& segment = said.view.segment;
  if (!segment.flags.ack() || c.openings_lost) {
    return;
  }
  bool heard = false;
  for (std::uint32_t i = 0; i < c.opening_count; ++i) {
    Conversation::Opening const& opening = c.openings[i];
    heard = heard || within(segment.acknowledgment, opening.irs.next(), opening.heard);
  }
  if (!heard) {
    std::uint64_t const last =
        c.opening_count == 0 ? 0 : c.openings[c.opening_count - 1].heard.value;
    report(said, "an ACK of something that was never heard", last, segment.acknowledgment.value);
  }
}

// Blocks are of what was heard, and of connections whose SYNs permit them.
void RfcChecker::judge_blocks(const Heard& said, const Conversation& c) {
  wire::Segment const& segment = said.view.segment;
  //= rfc2018#2
  //# 2018:SACK-1 SACK-permitted is for SYNs
  if (segment.options.has_sack_permitted && !segment.flags.syn()) {
    report(said, "SACK-permitted outside of a SYN", 0, 1);
  }
  // Of several SYNs nobody knows which one counts.
  if (segment.options.sack_count == 0 || c.opening_count != 1 || c.openings_lost) {
    return;
  }
  //= rfc2018#4
  //# 2018:SACK-2 none for a peer that did not permit them
  if (!c.sack || !c.openings[0].sack) {
    report(said, "SACK blocks that no SYN permitted", 0, segment.options.sack_count);
    return;
  }
  for (std::uint32_t i = 0; i < segment.options.sack_count; ++i) {
    wire::SackBlock const& block = segment.options.sack[i];
    if (!block.end.after(block.begin) || !c.text.holds(block.begin, block.end)) {
      report(said, "a SACK block of something that was never heard", block.end.value,
             block.begin.value);
    }
  }
}

// The right edge that is offered never moves left, and no segment is acknowledged twice over.
void RfcChecker::judge_edge(const Heard& said, Conversation& c) {
  wire::Segment const& segment = said.view.segment;
  if (!segment.flags.ack()) {
    return;
  }
  std::uint32_t const unit = unit_of(c, segment);
  Sequence const edge = segment.acknowledgment + Bytes{segment.window.value * unit};
  //= rfc7323#2.4
  //# 7323:TS-36 the rounding of a scale may take back less than one unit of it
  if (c.offered && !scale_unsure(c) && c.own_edge.after(edge + Bytes{unit - 1})) {
    report(said, "the right edge of the offered window moved left", c.own_edge.value, edge.value);
  }
  bool const pure = segment.length().empty() && segment.sequence == c.sent;
  bool const update = c.offered && segment.acknowledgment == c.last_ack && edge.after(c.own_edge);
  if (pure && !update) {
    ++c.pure_acks;
    //= rfc5681#4.2
    //# 5681:CC-28 at most one ACK for each arriving segment, window updates aside
    if (c.pure_acks > c.heard_segments) {
      report(said, "more ACKs than segments arrived", c.heard_segments, c.pure_acks);
    }
  }
  c.own_edge = c.offered ? last_of(c.own_edge, edge) : edge;
  c.last_ack = segment.acknowledgment;
  c.offered = true;
}

}  // namespace lockstep::sim
