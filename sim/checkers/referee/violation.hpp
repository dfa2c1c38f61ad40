// What the referee finds: which rule, at which packet, how sure, and why not surer.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/time.hpp"
#include "sim/checkers/referee/rules.hpp"

namespace lockstep::sim::referee {

// note: who does it may do so.
enum class Certainty : std::uint8_t { certain, likely, note };

// How a violation stands when it is found: `if_whole` turns likely once the capture is seen to lack
// something.
enum class Standing : std::uint8_t { likely, if_whole, certain };
inline constexpr std::uint32_t standing_count = 3;

// Why a violation is likely only.
enum class Ambiguity : std::uint8_t {
  none,
  lost_packets,   // the capture lacks packets that arrived
  middle,         // it begins in the middle of the connection
  cut,            // it has not all octets of a packet
  offload,        // hardware may have filled in, or cut up, what it shows
  order,          // packets may have overtaken each other before they were seen
  hidden,         // what the sender knew, and when, is inferred
  choice,         // an application, or a newer RFC, may have it so
  unconfirmed,    // nothing later shows that no packet is missing
  damaged,        // octets may have changed on the way
  middlebox,      // a box on the way may have changed it
  shared_window,  // the subflows of MPTCP share one window
};

constexpr std::string_view text_of(Ambiguity ambiguity) {
  constexpr std::array<std::string_view, 12> texts{
      "",
      "the capture lacks packets that arrived",
      "the capture begins in the middle of the connection",
      "the capture has not all octets of the packet",
      "hardware may have filled in or cut up what was captured",
      "packets may have overtaken each other before they were captured",
      "what the sender knew, and when, is inferred",
      "an application or a newer RFC may have it so",
      "nothing later shows that the capture is whole",
      "octets may have changed on the way",
      "a box on the way may have changed it",
      "the subflows of MPTCP share one window, which is told by each"};
  return texts[static_cast<std::uint32_t>(ambiguity)];
}

// Two numbers that disagree; what they mean follows from the rule.
struct Disagreement {
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
};

struct Violation {
  static constexpr std::uint32_t no_connection = ~std::uint32_t{0};

  Rule rule{};
  Ambiguity ambiguity = Ambiguity::none;
  bool rests_on_whole = false;  // it stands only if the capture lacks nothing of the connection
  std::uint32_t connection = no_connection;
  std::uint64_t packet = 0;
  Instant at;
  Endpoint speaker;
  Endpoint listener;
  Disagreement numbers;
  std::uint64_t more = 0;  // of the same rule, speaker and standing that are only counted here

  Certainty certainty() const {
    if (ambiguity == Ambiguity::choice) {
      return Certainty::note;
    }
    return ambiguity == Ambiguity::none ? Certainty::certain : Certainty::likely;
  }
  // What is less sure must not take the place of what is surer.
  Standing standing() const {
    if (ambiguity != Ambiguity::none) {
      return Standing::likely;
    }
    return rests_on_whole ? Standing::if_whole : Standing::certain;
  }
};

// The first violations of a capture, and how many there were. Of the places, what is likely may
// take a third, and with it what a lost packet would make likely two thirds.
class Violations {
 public:
  explicit Violations(std::uint32_t kept_max) : kept_max_(kept_max) {}

  // Its place, or kept_max where it is only counted.
  std::uint32_t add(const Violation& violation) {
    auto const rank = static_cast<std::uint32_t>(violation.standing());
    std::uint64_t const places = std::uint64_t{kept_max_} * (rank + 1) / standing_count;
    std::uint64_t taken = 0;
    for (std::uint32_t i = 0; i <= rank; ++i) {
      taken += taken_[i];
    }
    if (taken >= places) {
      return count_only(violation);
    }
    ++taken_[rank];
    auto const place = static_cast<std::uint32_t>(kept_.size());
    kept_.push_back(violation);
    before_.push_back(no_place);
    if (violation.connection != Violation::no_connection) {
      last_of_.resize(std::max(last_of_.size(), violation.connection + std::size_t{1}), no_place);
      before_.back() = std::exchange(last_of_[violation.connection], place);
    }
    return place;
  }
  // One more that has no place. Gives kept_max.
  std::uint32_t count_only(const Violation& violation) {
    ++dropped_;
    bool const certain = violation.standing() == Standing::certain;
    dropped_certain_[static_cast<std::uint32_t>(violation.rule)] += certain ? 1 : 0;
    std::uint32_t place =
        violation.connection < last_of_.size() ? last_of_[violation.connection] : no_place;
    // Of a connection with very many findings the latest are looked at.
    for (std::uint32_t i = 0; place != no_place && !is_same(kept_[place], violation); ++i) {
      place = i < looked_at_max ? before_[place] : no_place;
    }
    if (place != no_place) {
      ++kept_[place].more;
    }
    return kept_max_;
  }
  // What rests on a whole capture of this connection is likely from now on.
  void weaken_connection(std::uint32_t connection, Ambiguity why) {
    std::uint32_t place = connection < last_of_.size() ? last_of_[connection] : no_place;
    for (; place != no_place; place = before_[place]) {
      if (kept_[place].rests_on_whole) {
        weaken(place, why);
      }
    }
  }
  // The same of every connection.
  void weaken_all(Ambiguity why) {
    for (std::uint32_t place = 0; place < kept_.size(); ++place) {
      if (kept_[place].rests_on_whole) {
        weaken(place, why);
      }
    }
  }
  // Whether it was certain until now.
  bool weaken(std::uint32_t place, Ambiguity why) {
    if (place >= kept_.size() || kept_[place].ambiguity != Ambiguity::none) {
      return false;
    }
    --taken_[static_cast<std::uint32_t>(kept_[place].standing())];
    kept_[place].ambiguity = why;
    ++taken_[static_cast<std::uint32_t>(Standing::likely)];
    return true;
  }
  const std::vector<Violation>& kept() const { return kept_; }
  std::uint64_t dropped() const { return dropped_; }
  // Of these, what was certain of a rule when it was found.
  std::uint64_t dropped_certain(std::uint32_t rule) const { return dropped_certain_[rule]; }

 private:
  static constexpr std::uint32_t no_place = ~std::uint32_t{0};
  static constexpr std::uint32_t looked_at_max = 1'024;

  static bool is_same(const Violation& a, const Violation& b) {
    return a.rule == b.rule && a.speaker == b.speaker && a.standing() == b.standing();
  }

  std::uint32_t kept_max_;
  std::vector<Violation> kept_;
  std::vector<std::uint32_t> before_;   // for each of them, the last of its connection before it
  std::vector<std::uint32_t> last_of_;  // the last of each connection
  std::array<std::uint64_t, standing_count> taken_{};  // places, by what has them
  std::array<std::uint64_t, rule_count> dropped_certain_{};
  std::uint64_t dropped_ = 0;
};

}  // namespace lockstep::sim::referee
