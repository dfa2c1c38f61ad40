// The scoreboard: all data in flight, as ranges whose octets have the same status.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Octets newly delivered by an ACK, with the state of their transmission as the board had it.
struct Delivered {
  Sequence end;
  Instant sent_at;
  bool retransmitted = false;  // they were retransmitted at some time
};

// The result of one ACK.
struct AckSample {
  Instant arrived;        // set by the caller; so is least_rtt
  Duration least_rtt;     // a retransmission cannot be acknowledged sooner than this
  bool has_echo = false;  // timestamps are in use: the echo, in ticks of our clock
  std::uint32_t echo = 0;
  Bytes delivered;  // newly, cumulatively or by SACK
  Bytes newly_sacked;
  bool reordered = false;  // data sent once arrived after data that was sent later
  Bytes overtaken;         // ... maximum distance from its first octet to the end of the latter
  bool has_duplicate = false;
  wire::SackBlock duplicate;  // reported by D-SACK
  bool has_newest = false;    // the delivered part that was sent last
  Delivered newest;
};

// Access to the scoreboard of one connection. While it tracks, its ranges cover [SND.UNA, SND.NXT)
// without overlap. It tracks from the first SACK on (with Config::rack from the first octet) until
// all is acknowledged. Limits: Config::sent_max for all connections, sent_per_connection for one.
//= rfc6675#3
//# 6675:S6675-14 ranges of octets, whatever segments they left in
class Scoreboard {
 public:
  Scoreboard(Engine& e, InFlightState& a)
      : e_(e),
        s_(a.board),
        owner_(a.owner),
        order_(s_.order, e.sent.view()),
        age_(s_.age, e.sent.view()) {}

  bool tracks() const { return !order_.empty(); }
  // Octets in the network by RFC 6675's SetPipe, updated by every change.
  //= rfc6675#4
  //# 6675:S6675-2, 6675:S6675-15 what is not lost counts once, a retransmission once more
  Bytes pipe() const { return s_.pipe; }
  Bytes sacked() const { return s_.sacked; }
  // Lost and not retransmitted.
  Bytes lost_not_retransmitted() const { return s_.lost_not_retransmitted; }
  // The end of the lowest range.
  Sequence first_end() const { return at(order_.first()).end; }
  bool first_sacked() const { return first().sacked; }
  const Sent& first() const { return at(order_.first()); }

  // Starts tracking the data in flight, with `sent_at` as its time of transmission. False: no
  // record is free.
  bool begin(const Range& range, Instant sent_at);
  // New octets up to `end` are sent now, in order. Gives the scoreboard up if no record is free.
  void sent(Sequence end);
  // Octets are retransmitted. `end` is at most SND.NXT.
  void record_retransmission(Sequence begin, Sequence end);

  // All below `ack` is delivered and removed.
  void acknowledge(Sequence ack, AckSample& news);
  // [begin, end), inside the tracked range, was received. O(ranges between), mostly O(1).
  void sack(Sequence begin, Sequence end, AckSample& news);

  // RFC 6675's IsLost for all octets: true below the edge, false above it.
  void lose_below_edge(const Connection& c);
  // At least DupThresh ranges, or more than DupThresh - 1 segments' worth of octets, are SACKed.
  bool sacked_enough(const Connection& c) const;
  // Marks all that is not SACKed as lost; it is retransmitted as cwnd allows.
  void lose_all();
  // As lose_all, and discards the SACK information.
  void lose_all_and_forget();
  // Marks as lost the first range and all that was sent at least `age` ago.
  void lose_older(Duration age);
  // Marks what is lost and not retransmitted as in flight again.
  void clear_lost();
  // Marks a range as lost. Returns the range that it was merged into.
  Index lose(Index index);
  // No earlier retransmission counts as in flight: HighRxt is SND.UNA.
  void forget_retransmissions();

  // The lowest range that is lost and not retransmitted, or nil.
  Index next_lost();
  // The lowest range below the highest SACKed octet that is neither SACKed nor retransmitted, or
  // nil.
  Index next_doubtful() const;
  // The highest range that is not SACKed, or nil.
  Index last_unsacked() const;
  const Sent& at(Index index) const { return e_.sent[index]; }

  // Ranges in flight in the order of their last transmission: for RACK.
  Index oldest() const { return age_.first(); }
  Index younger(Index index) const { return age_.next(index); }

  // The end of the highest SACKed range; SND.UNA if there is none.
  Sequence highest_end(const Connection& c) const {
    return s_.highest == nil ? c.send.una : at(s_.highest).end;
  }

  // Whether this handle has given the scoreboard up because no record was free, and where the
  // lowest range lay that was then lost and not retransmitted.
  bool gave_up() const { return gave_up_; }
  Sequence lost_from() const { return lost_from_; }

  // Returns every record to the pool.
  void clear();
  // CHECKs the incrementally updated values against all ranges. For tests: O(ranges).
  void check(const Connection& c) const;

 private:
  Sent& edit(Index index) const { return e_.sent[index]; }
  bool ages(const Sent& r) const {
    return e_.config.rack && !r.sacked && (!r.lost || r.retransmitted);
  }
  void count(const Sent& r);
  void uncount(const Sent& r);
  void enlist(Index index);
  void delist(Index index);
  Index take();
  bool merge_plain(Index kept);
  bool cut(Index index, Sequence where);
  void absorb_next(Index index);
  Index join(Index index);
  void remove(Index index);
  void give_up();
  Index find(Sequence where) const;
  bool forget_lowest(Sequence below);
  // How octets became known as delivered: cumulatively, or by a SACK above a gap.
  enum class Delivery : std::uint8_t { in_order, above_gap };
  void deliver(Index index, Sequence end, Delivery delivery, AckSample& news);
  bool alike(const Sent& left, const Sent& right) const;
  //= rfc8985#4
  //# 8985:RACK-2 nanoseconds of the caller's clock
  Instant stamp() const { return e_.config.rack ? e_.state->now : Instant{}; }

  Engine& e_;
  ScoreboardState& s_;
  Index owner_;
  memory::List<Sent, &Sent::order> order_;
  memory::List<Sent, &Sent::age> age_;
  bool gave_up_ = false;
  Sequence lost_from_;
};

}  // namespace lockstep::tcp
