// What the referee finds: which rule, at which packet, how sure, and why not surer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/time.hpp"
#include "sim/checkers/referee/rules.hpp"

namespace lockstep::sim::referee {

enum class Certainty : std::uint8_t { certain, likely };

// Why a foul is likely only.
enum class Doubt : std::uint8_t {
  none,
  lost_packets,    // the capture lacks packets that arrived
  middle,          // it begins in the middle of the connection
  cut,             // it has not all octets of a packet
  offload,         // hardware may have filled in, or cut up, what it shows
  order,           // packets may have overtaken each other before they were seen
  hidden,          // what the sender knew, and when, is inferred
  choice,          // an application, or a newer RFC, may have it so
  unconfirmed,     // nothing later shows that no packet is missing
};

constexpr std::string_view text_of(Doubt doubt) {
  constexpr std::array<std::string_view, 9> texts{
      "",
      "the capture lacks packets that arrived",
      "the capture begins in the middle of the connection",
      "the capture has not all octets of the packet",
      "hardware may have filled in or cut up what was captured",
      "packets may have overtaken each other before they were captured",
      "what the sender knew, and when, is inferred",
      "an application or a newer RFC may have it so",
      "nothing later shows that the capture is whole"};
  return texts[static_cast<std::uint32_t>(doubt)];
}

// Two numbers that disagree; what they mean follows from the rule.
struct Disagreement {
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
};

struct Foul {
  Rule rule{};
  Doubt doubt = Doubt::none;
  bool rests_on_whole = false;  // it stands only if the capture lacks nothing of the connection
  std::uint32_t connection = 0;
  std::uint64_t packet = 0;
  Instant at;
  Endpoint speaker;
  Endpoint listener;
  Disagreement numbers;

  Certainty certainty() const {
    return doubt == Doubt::none ? Certainty::certain : Certainty::likely;
  }
};

// The first fouls of a capture, and how many there were of each rule.
class Fouls {
 public:
  explicit Fouls(std::uint32_t kept_max) : kept_max_(kept_max) {}

  // Its place, or kept_max where it is only counted.
  std::uint32_t add(const Foul& foul) {
    ++counts_[static_cast<std::uint32_t>(foul.rule)];
    if (kept_.size() == kept_max_) {
      ++dropped_;
      return kept_max_;
    }
    kept_.push_back(foul);
    return static_cast<std::uint32_t>(kept_.size() - 1);
  }
  // What rests on a whole capture of this connection is likely from now on.
  void doubt_connection(std::uint32_t connection, Doubt why) {
    for (Foul& foul : kept_) {
      if (foul.connection == connection && foul.rests_on_whole && foul.doubt == Doubt::none) {
        foul.doubt = why;
      }
    }
  }
  // The same of every connection.
  void doubt_all(Doubt why) {
    for (Foul& foul : kept_) {
      foul.doubt = foul.rests_on_whole && foul.doubt == Doubt::none ? why : foul.doubt;
    }
  }
  void doubt_one(std::uint32_t place, Doubt why) {
    if (place < kept_.size() && kept_[place].doubt == Doubt::none) {
      kept_[place].doubt = why;
    }
  }
  const std::vector<Foul>& kept() const { return kept_; }
  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t count(Rule rule) const { return counts_[static_cast<std::uint32_t>(rule)]; }

 private:
  std::uint32_t kept_max_;
  std::vector<Foul> kept_;
  std::uint64_t dropped_ = 0;
  std::array<std::uint64_t, rule_count> counts_{};
};

}  // namespace lockstep::sim::referee
