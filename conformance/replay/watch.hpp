// Watches a connection packet by packet in bounded memory for violations that are certain wherever
// the capture point is and whatever the capture lacks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/replay/flow.hpp"
#include "conformance/replay/options.hpp"
#include "sim/checkers/referee/hop_limits.hpp"

namespace lockstep::conformance {

/// A violation by one side: the first packet that shows it, and how many more do.
struct Finding {
  std::uint64_t packet = 0;
  std::uint64_t certain = 0;  ///< the packet with which it became certain
  std::string_view clause;
  std::string text;
  std::uint64_t count = 1;
  bool always = false;  ///< also if the capture lacks packets of the other side
};

/// Receives each segment of a connection once, in the order of the capture. Positions have 64 bits,
/// because a connection may carry more octets than there are sequence numbers.
class Watch {
 public:
  /// `recorded_since`: when the capture began, if that is known.
  Watch(const Endpoint& first, const Endpoint& second,
        std::optional<Instant> recorded_since = std::nullopt);
  void take(const tools::Segment& segment);

  /// Whether two connections with these addresses are alive at once.
  bool is_mixed() const { return mixed_; }
  /// Those that became certain after the packet `until`, sorted by packet.
  std::vector<Finding> findings(const Endpoint& side, std::uint64_t until = 0) const;
  /// The number of octets that a side sent, by its sequence numbers, with SYN and FIN.
  std::int64_t extent(const Endpoint& side) const;

 private:
  /// The segments on the wire, each of which may trigger an ACK. Beyond the maximum number of
  /// records the last record stands for all that follow.
  class Pieces {
   public:
    void add(std::int64_t mark, std::int64_t count) {
      if (all_.size() - begin_ == most) {
        all_.back() = {std::max(all_.back().mark, mark), all_.back().count + count};
      } else {
        all_.push_back({mark, count});
      }
      total_ += count;
    }
    /// Forgets the records whose mark lies at or before `end`.
    void forget_until(std::int64_t end) {
      while (begin_ != all_.size() && all_[begin_].mark <= end) {
        total_ -= all_[begin_++].count;
      }
      if (begin_ * 2 >= all_.size()) {
        all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(begin_));
        begin_ = 0;
      }
    }
    void clear() { *this = {}; }
    std::int64_t total() const { return total_; }

   private:
    static constexpr std::size_t most = 1'024;
    struct Piece {
      std::int64_t mark = 0, count = 0;
    };
    std::vector<Piece> all_;
    std::size_t begin_ = 0;  ///< records before this index are forgotten
    std::int64_t total_ = 0;
  };

  /// The state of one side.
  struct Side {
    Endpoint endpoint;
    bool syn = false;  ///< its SYN was captured; otherwise the options are unknown
    bool stamps = false, selective = false;
    bool same_options = true;            ///< all its SYNs have the same options
    bool asks = false, answers = false;  ///< it sent a SYN without ACK, a SYN-ACK
    bool asks_ecn = false, answers_ecn = false;
    bool multipath = false;  ///< its SYN has an MPTCP option
    std::optional<unsigned> shift;
    std::uint32_t mss = 0;                  ///< the largest of its SYNs; 0: none
    bool spoke = false;                     ///< its last segment was no SYN
    std::optional<std::uint32_t> answered;  ///< what its SYN-ACK acknowledges
    bool known = false;
    std::int64_t isn = 0;
    std::int64_t next = 0;   ///< SND.NXT as captured, a position in its own numbers
    std::int64_t acked = 0;  ///< its last ACK, a position in the other side's numbers
    bool acks = false;
    std::int64_t edge = 0;  ///< the rightmost edge that it offered ...
    bool edge_known = false;
    bool scales = false;                      ///< its windows are certainly scaled
    std::optional<std::int64_t> plain_edge;   ///< the rightmost edge if they are not
    std::int64_t edge_ack = 0;                ///< ... with this acknowledgment ...
    std::optional<std::uint32_t> edge_stamp;  ///< ... and this timestamp
    std::optional<std::int64_t> fin_end;      ///< the position after its FIN
    bool lossy = false;                       ///< the capture lacks some of its segments
    sim::referee::HopLimits hop_limits;
    std::uint16_t identification = 0;  ///< of its last IPv4 packet; 0: none
    // Violations that need more than one packet to be certain.
    unsigned oversized = 0, shrunk = 0;
    std::uint64_t oversized_packet = 0, shrunk_packet = 0;
    tools::Segment large;   ///< its last segment, if that is larger than the other side takes
    bool offloads = false;  ///< a NIC joins or splits its segments
    Instant shrunk_at;
    std::optional<std::int64_t>
        reported;  ///< the end of a SACK block beyond what the other side had sent
    std::int64_t reported_begin = 0;
    std::uint64_t reported_packet = 0;
    /// The block of a finding: a report of duplicates in it shows that the octets had arrived.
    std::optional<std::pair<std::int64_t, std::int64_t>> unsent;
    std::optional<std::uint32_t> reported_stamp;
    Instant reported_at;
    unsigned nonsense = 0;  ///< segments with a SACK block of octets that do not exist
    std::uint64_t nonsense_packet = 0;
    Block nonsense_last;
    bool sent_data = false;    ///< its last segment has data
    bool unbroken = false;     ///< the capture lacks none of its packets since the other's report
    Pieces flying;             ///< segments that it sent and the other side has not acknowledged
    Pieces again;              ///< its retransmissions, by time in nanoseconds
    std::int64_t repeats = 0;  ///< equal ACKs in a row with nothing from the other side in between
    std::uint64_t repeats_packet = 0;
    Instant repeats_at;            ///< the time of the first of them
    bool repeats_unknown = false;  ///< some of them may be copies of one packet
    tools::Segment last_ack;
    bool ece_pending = false;   ///< the other side echoes marks, and this side has sent no CWR yet
    std::int64_t cwr_end = 0;   ///< the end of the last segment with CWR
    std::int64_t ece_at = 0;    ///< what it had sent when the echo arrived ...
    std::int64_t ece_edge = 0;  ///< ... and the right edge then
    std::optional<std::uint32_t> ece_stamp;   ///< the timestamp of the segment with the echo
    std::optional<std::uint32_t> stamp;       ///< its highest timestamp
    std::optional<std::uint32_t> last_stamp;  ///< that of its last segment
    bool leaps = false;  ///< a timestamp was far from the one before: another clock's
    std::optional<std::uint32_t> syn_stamp;  ///< the timestamp of its first SYN ...
    Instant syn_at;                          ///< ... and its time
    Instant first_syn_at;                    ///< of the present SYN and its copies
    std::uint32_t network = 0;               ///< of that SYN
    bool unasked = false;                    ///< its SYN-ACK answers a SYN that was not captured
    bool early = false;                      ///< its SYN has data
    bool first_octet = false;                ///< a segment with its first octet was seen
    std::optional<std::uint32_t> echo;       ///< the latest timestamp that it has echoed ...
    std::int64_t echo_ack = 0;  ///< ... for the first time with this acknowledgment ...
    Instant echo_at;            ///< ... at this time
    unsigned unheeded = 0, unheeded_turns = 0;  ///< new segments without CWR, and their round trips
    std::uint64_t ece_packet = 0;
    std::vector<Finding> findings;
  };

  /// The options of a SYN; an MSS of 0: none.
  struct Offer {
    std::uint32_t mss = 0;
    bool stamps = false, selective = false;
    std::optional<unsigned> shift;
  };

  void find(Side& side, Finding finding);
  void find(Side& side, std::uint64_t packet, std::string_view clause, std::string text) {
    find(side, {packet, packet_, clause, std::move(text)});
  }
  void take_syn(Side& side, Side& other, const tools::Segment& segment);
  static Offer offer_of(const tools::Segment& syn);
  void look_at_answer(Side& side, const Side& other, const tools::Segment& answer,
                      const Offer& offer);
  static void forgive_answer(Side& side);
  void look_at_options(Side& side, Side& other, const tools::Segment& segment);
  void look_at_size(Side& side, const Side& other, const tools::Segment& segment);
  void look_at_window(Side& side, const Side& other, const tools::Segment& segment);
  void look_at_reports(Side& side, Side& other, const tools::Segment& segment);
  void settle_report(Side& side, Side& other, const tools::Segment& segment, std::int64_t begin);
  static bool is_nonsense(const Side& other, const tools::Segment& segment, const Block& block);
  void note_nonsense(Side& side, const tools::Segment& segment, const Block& block);
  void look_at_repeats(Side& side, const Side& other, const tools::Segment& segment);
  void look_at_marks(Side& side, Side& other, const tools::Segment& segment);
  void look_at_echo(Side& side, const Side& other, const tools::Segment& segment);
  void look_at_new_data(Side& side, const Side& other, const tools::Segment& segment);
  static void expect_cwr(Side& side, const Side& other, std::optional<std::uint32_t> stamp);
  static void begin_anew(Side& side);
  static std::int64_t pieces_of(const Side& side, const Side& other, std::int64_t octets);
  static bool is_later(const Side& side, const tools::Segment& segment, std::int64_t ack);
  static bool may_reach_zero(std::uint32_t stamp, Duration time);
  static bool share_window(const Side& side, const Side& other);
  static bool has_received_ece(const Side& side, const tools::Segment& segment);
  static void forgive_report(Side& side, const Side& other, const tools::Segment& segment);
  static bool knows_report(const Side& reporter, const Side& side, const tools::Segment& segment);
  static bool is_answered(const Side& other, const tools::Segment& answer);
  static std::optional<bool> is_copy(const tools::Segment& last, const tools::Segment& segment);
  static bool may_be_copies(const Side& side, const Side& other, const tools::Segment& segment);
  bool is_intact(const tools::Segment& segment);
  static void note_packet(Side& side, const tools::Segment& segment);
  static void doubt(Side& side, Side& other);
  void note_numbers(Side& side, const tools::Segment& segment, bool intact);
  void move_on(Side& side, Side& other, const tools::Segment& segment, bool intact);

  /// Whether the capture has what the side sent before its first captured segment.
  bool is_whole(const Side& side, const tools::Segment& now) const;

  /// The largest reordering by a recorder.
  static constexpr Duration disorder = Duration::milliseconds(20);

  std::array<Side, 2> sides_;
  std::optional<Instant> recorded_since_;
  std::optional<Instant> began_;
  std::uint64_t packet_ = 0;   ///< the current one
  bool mixed_ = false;         ///< two connections with these addresses are alive
  bool ended_before_ = false;  ///< `ended_` before the current segment
  bool ended_ = false;         ///< by a FIN or reset; what follows may be another connection's
  std::uint64_t verified_ = 0, edited_ = 0;  ///< segments with data, by their checksums
};

}  // namespace lockstep::conformance
