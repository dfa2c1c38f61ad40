// `lockstep overlaps`: counts, tables, and what is said of a device that breaks.
#include "tools/verbs/overlaps/overlaps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;
using conformance::OverlapOutcome;
using testing::HasSubstr;

const std::string ours = LOCKSTEP_BINARY_DIR "/devices/lockstep.so";

std::uint64_t count_of(const OverlapColumn& column, OverlapOutcome outcome) {
  return column.outcomes[static_cast<std::size_t>(outcome)];
}

TEST(OverlapsVerb, CountsEachArrangementOnceOnEachLayer) {
  OverlapResult const result = run_overlaps({{ours}, 3, "", ""});
  EXPECT_EQ(result.arrangements.size(), 13U + 409U);
  ASSERT_EQ(result.columns.size(), conformance::overlap_layers);
  EXPECT_TRUE(result.findings.empty());
  for (OverlapColumn const& column : result.columns) {
    EXPECT_EQ(std::reduce(column.outcomes.begin(), column.outcomes.end()), 422U);
    EXPECT_EQ(count_of(column, OverlapOutcome::apart), 28U);
    EXPECT_EQ(column.fingerprints.size(), 2U);
    // Ours discards a packet whose fragments overlap, and keeps the first octets of segments.
    bool const fragments = column.layer == conformance::OverlapLayer::ipv4 ||
                           column.layer == conformance::OverlapLayer::ipv6;
    auto const expected = fragments ? OverlapOutcome::dropped : OverlapOutcome::first;
    EXPECT_EQ(count_of(column, expected), 394U) << conformance::name_of(column.layer);
  }
}

TEST(OverlapsVerb, IsTheSameTwice) {
  OverlapOptions const options{{ours}, 2, "", ""};
  std::string const page = overlaps_markdown(options, run_overlaps(options));
  EXPECT_EQ(page, overlaps_markdown(options, run_overlaps(options)));
  EXPECT_THAT(page, HasSubstr("| TCP, queued | first wins | 9 |"));
  EXPECT_THAT(page, HasSubstr("| IPv6 | A 0-2, B 1-3 | AAB | ABB | - |"));
}

TEST(OverlapsVerb, NamesADeviceThatBreaks) {
  fs::path const folder = fs::path(testing::TempDir()) / "overlaps";
  fs::create_directories(folder);
  fs::path const device = folder / "device";
  std::ofstream(device) << "#!/bin/sh\nexit 3\n";
  fs::permissions(device, fs::perms::owner_all);
  OverlapOptions const options{{device.string(), ours}, 2, (folder / "out.json").string(), ""};
  OverlapResult const result = run_overlaps(options);
  ASSERT_EQ(result.findings.size(), conformance::overlap_layers);
  EXPECT_THAT(result.findings[0].what, HasSubstr("about: it has ended with exit code 3"));
  // The other device was asked all the same, and the file is written.
  EXPECT_EQ(count_of(result.columns[1], OverlapOutcome::first), 9U);
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_overlaps_verb(options), static_cast<int>(ExitCode::finding));
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("exit code 3"));
  EXPECT_TRUE(fs::exists(folder / "out.json"));
  EXPECT_THROW(run_overlaps({{"nowhere"}, 2, "", ""}), Failure);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace lockstep::tools
