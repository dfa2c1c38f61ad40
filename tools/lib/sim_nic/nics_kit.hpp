// Shared by the tests of NICs.
#pragma once

#include <gtest/gtest.h>

#include "sim/kernel/kernel.hpp"
#include "sim/kernel/snapshot.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"

namespace lockstep::tools {

/// Runs to the end, then again from a snapshot taken two milliseconds after the start; expects the
/// same.
inline void expect_same_from_a_snapshot(const sim::World& world) {
  sim::Kernel kernel(world, 3, with_nics(sim::Registry::standard()));
  kernel.run_until(Instant{2'000'000});
  auto const kept = kernel.snapshot();
  EXPECT_FALSE(kernel.done());
  EXPECT_EQ(kernel.run(), sim::Ending::completed);
  std::uint64_t const once = kernel.fingerprint();
  kernel.restore(*kept);
  EXPECT_NE(kernel.fingerprint(), once);
  EXPECT_EQ(kernel.run(), sim::Ending::completed);
  EXPECT_EQ(kernel.fingerprint(), once);
}

}  // namespace lockstep::tools
