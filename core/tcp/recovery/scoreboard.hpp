// The scoreboard: all that is sent and not acknowledged cumulatively, in ranges of one fate each.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Octets that an ACK has newly told of, as the board knew them: by which transmission they left.
struct Delivered {
  Sequence end;
  Instant sent_at;
  bool retransmitted = false;  // they were retransmitted at some time
};

// What one ACK has told of.
struct AckSample {
  Instant arrived;        // set by the caller, as is the next
  Duration least_rtt;     // what was sent again cannot have come back faster
  bool has_echo = false;  // timestamps are spoken: the echo, in ticks of our clock
  std::uint32_t echo = 0;
  Bytes delivered;  // newly, by number or by SACK
  Bytes newly_sacked;
  bool reordered = false;  // what was sent once came after what had left later
  Bytes overtaken;         // ... from its first octet to the last of those, at most
  bool has_duplicate = false;
  wire::SackBlock duplicate;  // reported by D-SACK
  bool has_newest = false;    // of all that was delivered the part that left last
  Delivered newest;
};

// A handle on the board of one connection. While it tracks, its ranges tile [SND.UNA, SND.NXT).
// It tracks from the first SACK on, with Config::rack from the first octet on, until all is
// acknowledged. Bounded: Config::sent_max for all connections, sent_per_connection for one.
//= rfc6675#3
//# 6675:S6675-14 ranges of octets, whatever segments they left in
class Board {
 public:
  Board(Engine& e, InFlightState& a)
      : e_(e), s_(a.board), order_(s_.order, e.sent.view()), age_(s_.age, e.sent.view()) {}

  bool tracks() const { return !order_.empty(); }
  // Octets in the network by RFC 6675's SetPipe, kept up to date by every change.
  //= rfc6675#4
  //# 6675:S6675-2, 6675:S6675-15 what is not lost counts once, what was sent again once more
  Bytes pipe() const { return s_.pipe; }
  Bytes sacked() const { return s_.sacked; }
  // Lost and not sent again.
  Bytes lost_not_retransmitted() const { return s_.lost_not_retransmitted; }
  // Where the lowest range ends, and where the highest SACKed one does.
  Sequence first_end() const { return at(order_.first()).end; }
  bool first_sacked() const { return first().sacked; }
  const Sent& first() const { return at(order_.first()); }

  // Begins to track what is in flight, all of it since `sent_at` at the latest. False: no record
  // is free.
  bool begin(const Range& range, Instant sent_at);
  // New octets up to `end` leave now, in order. The board gives up if it has no room at all.
  void sent(Sequence end);
  // Octets leave again. `end` is at most SND.NXT.
  void sent_again(Sequence begin, Sequence end);

  // All below `ack` is delivered and goes.
  void acknowledge(Sequence ack, AckSample& news);
  // [begin, end), within what is tracked, has been received. O(ranges between), O(1) mostly.
  void sack(Sequence begin, Sequence end, AckSample& news);

  // RFC 6675's IsLost for all octets at once: it is true below an edge and false above.
  void lose_below_edge(const Connection& c);
  // At least DupThresh ranges, or more than DupThresh - 1 segments' worth of octets, are SACKed.
  bool sacked_enough(const Connection& c) const;
  // All that is not SACKed is lost: it leaves again, as cwnd allows.
  void lose_all();
  // As lose_all, and what was SACKed is forgotten.
  void lose_all_and_forget();
  // The first range, and whatever left so long ago.
  void lose_older(Duration age);
  // What is lost and was not sent again is in flight after all.
  void revive();
  // Returns the range that it has become part of.
  Index lose(Index index);
  // No retransmission so far counts as being in flight: HighRxt is SND.UNA.
  void forget_retransmissions();

  // The lowest range that is lost and was not sent again, or nil.
  Index next_lost();
  // The lowest range below the highest SACKed octet that was neither SACKed nor sent again, or nil.
  Index next_doubtful() const;
  // The highest range that is not SACKed, or nil.
  Index last_unsacked() const;
  const Sent& at(Index index) const { return e_.sent[index]; }

  // In order of sending, of what is in flight: for RACK.
  Index oldest() const { return age_.first(); }
  Index younger(Index index) const { return age_.next(index); }

  // Where the highest SACKed range ends; SND.UNA if there is none.
  Sequence highest_end(const Connection& c) const {
    return s_.highest == nil ? c.send.una : at(s_.highest).end;
  }

  // Whether this handle has given the board up, for want of records, and from where on what was
  // lost had not been sent again by then.
  bool gave_up() const { return gave_up_; }
  Sequence lost_from() const { return lost_from_; }

  // Gives every record back.
  void clear();
  // CHECKs all that is kept up to date against all ranges. For tests: O(ranges).
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
  bool cut(Index index, Sequence where);
  void absorb_next(Index index);
  Index join(Index index);
  void remove(Index index);
  void give_up();
  Index find(Sequence where) const;
  bool forget_lowest(Sequence below);
  // How a segment came to be known as delivered: with all before it, or above a gap.
  enum class InboundSegment : std::uint8_t { in_order, above_gap };
  void deliver(const Sent& r, Sequence end, InboundSegment arrival, AckSample& news);
  bool alike(const Sent& left, const Sent& right) const;
  //= rfc8985#4
  //# 8985:RACK-2 nanoseconds of the world's clock
  Instant stamp() const { return e_.config.rack ? e_.state->now : Instant{}; }

  Engine& e_;
  Scoreboard& s_;
  memory::List<Sent, &Sent::order> order_;
  memory::List<Sent, &Sent::age> age_;
  bool gave_up_ = false;
  Sequence lost_from_;
};

}  // namespace lockstep::tcp
