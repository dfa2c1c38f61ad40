// `lockstep compare`: its arguments, files and exit codes.
#include "tools/verbs/compare/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <filesystem>
#include <string>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string ours = LOCKSTEP_BINARY_DIR "/devices/lockstep.so";

std::string refusal_of(const CompareVerbOptions& options) {
  try {
    run_compare_verb(options);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    return failure.what();
  }
  return "nothing was refused";
}

TEST(CompareVerb, OursHasNoFinding) {
  fs::path const json = fs::path(testing::TempDir()) / "compare.json";
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_compare_verb({{ours}, "0..499", "", "", json.string(), ""}),
            static_cast<int>(ExitCode::fine));
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("lockstep"));
  EXPECT_TRUE(fs::exists(json));
  fs::remove(json);
}

TEST(CompareVerb, IsTheSameTwice) {
  const auto page = [] {
    conformance::compare::CompareOptions options;
    options.devices = {ours, ours};
    options.seeds = 200;
    options.goes_on = [](std::uint64_t) { return true; };
    return compare_markdown({{"a", "b"}, "0..199", "", "", "", ""},
                            conformance::compare::compare_devices(options));
  };
  std::string const first = page();
  EXPECT_EQ(first, page());
  EXPECT_THAT(first, HasSubstr("| `lockstep` | 200 | 0 | 0 |"));
}

TEST(CompareVerb, RefusesWhatItCannotRead) {
  EXPECT_EQ(compare_time("10m"), Duration::seconds(600));
  EXPECT_EQ(compare_time("30s"), Duration::seconds(30));
  EXPECT_THAT(refusal_of({{ours}, "", "soon", "", "", ""}), HasSubstr("--time soon: expected"));
  EXPECT_THAT(refusal_of({{ours}, "9..1", "", "", "", ""}), HasSubstr("did you mean 1..9?"));
  EXPECT_THAT(refusal_of({{ours}, "x", "", "", "", ""}), HasSubstr("--seeds x: expected A..B"));
  EXPECT_THAT(refusal_of({{"nowhere"}, "1", "", "", "", ""}), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace lockstep::tools
