// Verdicts on violations that only the replay shows: whose fault they are.
#include "conformance/replay/unaided.hpp"

#include <gtest/gtest.h>

#include "conformance/replay/report.hpp"

namespace lockstep::conformance {
namespace {

TEST(Verdicts, TellTheCoresFaultsFromTheDevices) {
  Script script;
  LiveRun run;
  CrossBreach breach;
  breach.kind = Divergence::Kind::unexpected;
  breach.breach = {Instant{}, {"9293:P-CLOSE-QUEUED"}, "core: the FIN moved", std::nullopt, true};
  Verdict const verdict = settle_unaided(script, run, {breach}, {});
  EXPECT_EQ(verdict.judgement, Judgement::core_differs);
  EXPECT_EQ(verdict_text(verdict).substr(0, 33), "core differs 9293:P-CLOSE-QUEUED:");
  breach.kind = Divergence::Kind::missing;
  breach.breach.text = "capture: the FIN moved";
  EXPECT_EQ(verdict_text(settle_unaided(script, run, {breach}, {})),
            "violates 9293:P-CLOSE-QUEUED");
  script.near = false;  // packets may have been reordered between the device and the capture
  EXPECT_EQ(settle_unaided(script, run, {breach}, {}).judgement, Judgement::cannot_tell);
}

}  // namespace
}  // namespace lockstep::conformance
