// Makes a capture that may be published: the same TCP between other hosts, with other data.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/units/address.hpp"
#include "sim/kernel/pcapng.hpp"
#include "tools/base/capture/capture.hpp"
#include "tools/base/capture/decode.hpp"
#include "tools/verbs/anonymise/aliases.hpp"
#include "tools/verbs/anonymise/rebuild.hpp"

namespace lockstep::tools {

/// The two ends of a connection, the lower one first.
using EndPair = std::pair<Endpoint, Endpoint>;
EndPair pair_of(const Endpoint& one, const Endpoint& other);

/// Which TCP is kept. Of other packets those are kept on which a verdict may depend.
struct Selection {
  std::optional<EndPair> only;             ///< the one connection; by default all
  std::set<EndPair> without = {};          ///< these are dropped
  std::uint64_t first = 1;                 ///< the first packet of the file that is kept ...
  std::uint64_t last = ~std::uint64_t{0};  ///< ... and the last one

  bool has(const EndPair& pair) const;
};

struct AnonymiseOptions {
  std::string capture;
  std::uint64_t seed = 0;
  bool keep_numbers = false;
};

/// Kinds of frames as they are counted. An emptied one keeps its header, with other addresses.
enum class Sort : std::uint8_t {
  tcp,
  icmp_error,
  arp,
  other_not_ip,
  other_ip,
  fragment,
  cut_short,
  malformed
};
inline constexpr std::size_t sort_count = 8;
std::string_view name_of(Sort sort);

struct AnonymiseCounts {
  std::uint64_t packets_in = 0, packets_out = 0;
  std::array<std::uint64_t, sort_count> kept{}, dropped{};
  RebuildCounts replaced;
};

/// A capture that has been read once, so that it can be written with a selection of its packets.
class Anonymiser {
 public:
  /// Reads the whole capture. Throws Failure as CaptureReader does.
  explicit Anonymiser(const AnonymiseOptions& options);

  /// Called for every packet written: its number before and after.
  using OnPacket = std::function<void(std::uint64_t before, std::uint64_t after)>;
  /// Writes pcapng. The same input and seed gives the same octets. Throws Failure (bad_input) if
  /// the capture has too many addresses.
  AnonymiseCounts write(const Selection& selection, sim::ByteSink& sink, const OnPacket& on_packet);

  /// Those of the last write().
  const Aliases& aliases() const { return *aliases_; }
  std::uint64_t packets() const { return packets_; }
  /// Where the capture is truncated; empty if it is not.
  const std::string& warning() const { return warning_; }

 private:
  Instant shifted(Instant time) const;

  AnonymiseOptions options_;
  std::unique_ptr<Aliases> aliases_;
  Instant earliest_ = Instant::never();
  std::uint64_t packets_ = 0;
  std::string warning_;
};

}  // namespace lockstep::tools
