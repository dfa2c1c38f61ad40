// One connection that carries as much as it can in one direction.
#pragma once

#include <cstdint>

#include "core/wire/checksum.hpp"
#include "tools/lib/pair/pair.hpp"
#include "tools/proofs/bench/result.hpp"

namespace lockstep::tools::benchmark {

// copied: Stack::write copies into the block store. lent: Stack::lend from a bound region with its
// table of prefix sums, so that what leaves is not summed.
enum class Writing : std::uint8_t { copied, lent };

struct BulkSettings {
  PairSettings pair;
  Writing writing = Writing::copied;
  std::uint64_t segments = 100'000;  // full-sized ones
  bool verify = false;               // compare each byte that is read
};

// A transfer that can be run piece by piece, so that what it costs can be watched from outside.
class Bulk {
 public:
  explicit Bulk(const BulkSettings& settings);
  ~Bulk();
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;

  // Connects and carries the window once, so that what follows runs in the steady state.
  void warm_up();
  // Carries all that the settings ask for. CHECKs that it arrives.
  Result run();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::tools::benchmark
