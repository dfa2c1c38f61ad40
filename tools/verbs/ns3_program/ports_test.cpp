// Scenarios and cells of the matrix give the same results over ns-3's devices as over the plain
// port.
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include "conformance/replay/live.hpp"
#include "conformance/suite/suite.hpp"
#include "tools/lib/ns3_ports/port_kind.hpp"
#include "tools/verbs/matrix/cells.hpp"

namespace lockstep::tools {
namespace {

/// Replays use ns-3 devices during the lifetime of this object.
struct OnNs3 {
  OnNs3() { conformance::set_replay_bench(ns3_port_kind().bench); }
  ~OnNs3() { conformance::set_replay_bench(nullptr); }
  OnNs3(const OnNs3&) = delete;
  OnNs3& operator=(const OnNs3&) = delete;
};

// A part of them; `lockstep ns3 conformance` runs all.
TEST(Ns3Ports, ScenariosHaveTheSameVerdictsAsOnThePlainPort) {
  auto const cases = conformance::find_cases(LOCKSTEP_SOURCE_DIR "/pcaps", {"rfc6298", "rfc6675"});
  ASSERT_GE(cases.size(), 5u);
  std::string const plain = conformance::suite_json(conformance::run_suite(cases));
  OnNs3 const on_ns3;
  auto const report = conformance::run_suite(cases);
  EXPECT_TRUE(report.passes());
  EXPECT_EQ(conformance::suite_json(report), plain);
}

// `lockstep ns3 matrix --lossless` runs all cells without loss.
TEST(Ns3Ports, CellsHaveTheSameThroughputAsOnThePlainPort) {
  std::uint32_t looked_at = 0;
  for (Cell const& cell : matrix_cells()) {
    bool const chosen = cell.rtt == Duration::milliseconds(10) &&
                        cell.bits_per_second == 10'000'000 &&
                        cell.congestion == tcp::Congestion::cubic &&
                        (cell.loss.per_billion == 0 || cell.loss.per_billion == 10'000'000);
    if (chosen && looked_at < 3) {
      EXPECT_EQ(run_cell(cell, Rack::on, 1, ns3_port_kind()), run_cell(cell, Rack::on, 1))
          << name_of(cell);
      ++looked_at;
    }
  }
  EXPECT_EQ(looked_at, 3u);
}

}  // namespace
}  // namespace lockstep::tools
