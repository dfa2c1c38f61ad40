// One connection that transfers as fast as it can in one direction.
#pragma once

#include <cstdint>

#include "core/wire/checksum.hpp"
#include "tools/lib/pair/pair.hpp"
#include "tools/proofs/bench/result.hpp"

namespace lockstep::tools::benchmark {

// copied: Stack::write copies into the block store. lent: Stack::lend from a bound region with a
// table of prefix sums, so that no checksum is computed over the data.
enum class Writing : std::uint8_t { copied, lent };

struct BulkSettings {
  PairSettings pair;
  Writing writing = Writing::copied;
  std::uint64_t segments = 100'000;  // full-sized segments
  bool verify = false;               // compare each byte read
};

// A transfer that can be run in parts, so that its cost can be measured from outside.
class Bulk {
 public:
  explicit Bulk(const BulkSettings& settings);
  ~Bulk();
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;

  // Connects and transfers one window, so that what follows is the steady state.
  void warm_up();
  // Transfers all that the settings request. CHECKs that it arrives.
  Result run();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::tools::benchmark
