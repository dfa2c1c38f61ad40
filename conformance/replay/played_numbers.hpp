// What the TCP under replay has sent, and how the capture's sequence numbers relate to its own.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "conformance/replay/options.hpp"
#include "conformance/replay/script.hpp"
#include "conformance/replay/transmissions.hpp"

namespace lockstep::conformance {

/// Updated with each segment that the TCP under replay sends.
class PlayedNumbers {
 public:
  explicit PlayedNumbers(const Script& script) : script_(script) {}

  /// `window_bytes` is scaled. An initial sequence number that is new begins an incarnation.
  void add(const tools::Segment& segment, std::uint32_t window_bytes);

  /// Its initial sequence numbers so far; incarnation n has isns()[n - 1].
  const std::vector<std::uint32_t>& isns() const { return isns_; }
  std::uint32_t incarnation() const { return static_cast<std::uint32_t>(isns_.size()); }
  bool knows(std::uint32_t incarnation) const { return incarnation <= isns_.size(); }
  /// The end of all that it has sent in its present incarnation.
  std::uint32_t highest() const { return highest_; }

  /// Converts a captured sequence number of the device to its own.
  std::uint32_t as_played(std::uint32_t number, std::uint32_t incarnation) const;
  /// How often it has sent the octet.
  std::uint32_t times_sent(std::uint32_t number, std::uint32_t incarnation) const;
  /// The peer's captured SACK blocks, limited to what it has sent; for D-SACK, to what it has sent
  /// twice.
  std::vector<Block> played_blocks(const Step& step, const std::vector<Block>& captured) const;
  bool met(const Step& step, const Need& need) const;

 private:
  const Script& script_;
  std::vector<std::uint32_t> isns_;
  std::map<std::uint32_t, Transmissions> sent_;  ///< by incarnation
  std::size_t count_ = 0;
  std::uint32_t highest_ = 0, edge_ = 0;
  bool edge_known_ = false;
};

/// Replaces the echo of the segment's timestamps, if it has any.
void set_echo(tools::Segment& segment, std::uint32_t echo);

}  // namespace lockstep::conformance
