// The referee's findings: which rule, at which packet, how certain, and why not more certain.
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

// note: permitted, but worth knowing.
enum class Certainty : std::uint8_t { certain, likely, note };

// How certain a violation is when found: `if_whole` turns likely once the capture turns out to lack
// a packet.
enum class Standing : std::uint8_t { likely, if_whole, certain };
inline constexpr std::uint32_t standing_count = 3;

// Why a violation is not certain.
enum class Ambiguity : std::uint8_t {
  none,
  lost_packets,   // the capture lacks packets that arrived
  middle,         // it begins in the middle of the connection
  cut,            // it lacks octets of a packet
  offload,        // hardware may have filled in checksums, or joined or split segments
  order,          // packets may have overtaken each other before they were seen
  hidden,         // what the sender knew, and when, is inferred
  choice,         // an application or a newer RFC may permit it
  unconfirmed,    // no later packet shows that none is missing
  damaged,        // octets may have changed on the way
  middlebox,      // a middlebox may have changed it
  shared_window,  // the subflows of MPTCP share one window
};

constexpr std::string_view text_of(Ambiguity ambiguity) {
  constexpr std::array<std::string_view, 12> texts{
      "",
      "the capture lacks packets that arrived",
      "the capture begins in the middle of the connection",
      "the capture lacks octets of the packet",
      "hardware may have filled in checksums, or joined or split segments",
      "packets may have overtaken each other before they were captured",
      "what the sender knew, and when, is inferred",
      "an application or a newer RFC may permit it",
      "no later packet shows that the capture is complete",
      "octets may have changed on the way",
      "a middlebox may have changed it",
      "the subflows of MPTCP share one window, which each of them advertises"};
  return texts[static_cast<std::uint32_t>(ambiguity)];
}

// Two numbers that disagree; the rule determines what they mean.
struct Disagreement {
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
};

struct Violation {
  static constexpr std::uint32_t no_connection = ~std::uint32_t{0};

  Rule rule{};
  Ambiguity ambiguity = Ambiguity::none;
  bool rests_on_all = false;    // certain only if every octet of the connection was seen
  bool rests_on_whole = false;  // ... and nobody asserts that the capture lacks no packet
  std::uint32_t connection = no_connection;
  std::uint64_t packet = 0;
  Instant at;
  Endpoint speaker;
  Endpoint listener;
  Disagreement numbers;
  std::uint64_t more = 0;  // further ones of the same rule, sender and standing, which are not kept

  Certainty certainty() const {
    if (ambiguity == Ambiguity::choice) {
      return Certainty::note;
    }
    return ambiguity == Ambiguity::none ? Certainty::certain : Certainty::likely;
  }
  // Used by Violations, where less certain ones must not displace more certain ones.
  Standing standing() const {
    if (ambiguity != Ambiguity::none) {
      return Standing::likely;
    }
    return rests_on_whole ? Standing::if_whole : Standing::certain;
  }
};

// The first violations of a capture, and their count. Likely ones may take a third of the places,
// and together with `if_whole` ones two thirds.
class Violations {
 public:
  explicit Violations(std::uint32_t kept_max) : kept_max_(kept_max) {}

  // Returns its index, or kept_max if it is only counted.
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
  // Counts a violation without keeping it. Returns kept_max.
  std::uint32_t count_only(const Violation& violation) {
    ++dropped_;
    bool const certain = violation.standing() == Standing::certain;
    dropped_certain_[static_cast<std::uint32_t>(violation.rule)] += certain ? 1 : 0;
    std::uint32_t place =
        violation.connection < last_of_.size() ? last_of_[violation.connection] : no_place;
    // Only the connection's latest findings are searched, to bound the cost.
    for (std::uint32_t i = 0; place != no_place && !is_same(kept_[place], violation); ++i) {
      place = i < looked_at_max ? before_[place] : no_place;
    }
    if (place != no_place) {
      ++kept_[place].more;
    }
    return kept_max_;
  }
  // Makes this connection's violations likely, from the one at `first` on, that are certain only in
  // a whole capture.
  void weaken_connection(std::uint32_t connection, Ambiguity why, std::uint32_t first) {
    std::uint32_t place = connection < last_of_.size() ? last_of_[connection] : no_place;
    for (; place != no_place && place >= first; place = before_[place]) {
      if (kept_[place].rests_on_whole) {
        weaken(place, why);
      }
    }
  }
  // Makes one side's violations of a rule likely, from the one at `first` on.
  void weaken_rule(std::uint32_t connection, const Endpoint& speaker, Rule rule,
                   std::uint32_t first, Ambiguity why) {
    std::uint32_t place = connection < last_of_.size() ? last_of_[connection] : no_place;
    for (; place != no_place && place >= first; place = before_[place]) {
      if (kept_[place].rule == rule && kept_[place].speaker == speaker) {
        weaken(place, why);
      }
    }
  }
  // Makes all of one side's violations likely, from the one at `first` on.
  void weaken_speaker(std::uint32_t connection, const Endpoint& speaker, std::uint32_t first,
                      Ambiguity why) {
    std::uint32_t place = connection < last_of_.size() ? last_of_[connection] : no_place;
    for (; place != no_place && place >= first; place = before_[place]) {
      if (kept_[place].speaker == speaker) {
        weaken(place, why);
      }
    }
  }
  // Makes every connection's violations likely that are certain only if every octet was seen.
  void weaken_all(Ambiguity why) {
    weaken_where([](Violation const&) { return true; }, why);
  }
  // The same for every connection between two addresses of which `hidden(one, other)` is true.
  template <class Hidden>
  void weaken_between(Hidden hidden, Ambiguity why) {
    weaken_where(
        [&hidden](Violation const& each) {
          return hidden(each.speaker.address, each.listener.address);
        },
        why);
  }
  // Returns whether it was certain until now.
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
  // How many of these, of one rule, were certain when found.
  std::uint64_t dropped_certain(std::uint32_t rule) const { return dropped_certain_[rule]; }

 private:
  template <class Which>
  void weaken_where(Which which, Ambiguity why) {
    for (std::uint32_t place = 0; place < kept_.size(); ++place) {
      if (kept_[place].rests_on_all && which(kept_[place])) {
        weaken(place, why);
      }
    }
  }

  static constexpr std::uint32_t no_place = ~std::uint32_t{0};
  static constexpr std::uint32_t looked_at_max = 1'024;

  static bool is_same(const Violation& a, const Violation& b) {
    return a.rule == b.rule && a.speaker == b.speaker && a.standing() == b.standing();
  }

  std::uint32_t kept_max_;
  std::vector<Violation> kept_;
  std::vector<std::uint32_t> before_;  // by index in kept_: the previous one of the same connection
  std::vector<std::uint32_t> last_of_;                 // by connection: its latest in kept_
  std::array<std::uint64_t, standing_count> taken_{};  // by Standing: how many of kept_
  std::array<std::uint64_t, rule_count> dropped_certain_{};
  std::uint64_t dropped_ = 0;
};

}  // namespace lockstep::sim::referee
