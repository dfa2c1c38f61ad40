// `lockstep pkt` from the command line: exit codes, output files, and files that it must not
// overwrite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "conformance/script/explain.hpp"
#include "conformance/script/report.hpp"
#include "conformance/script/script_kit.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/utf8.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::conformance::script {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string out, err, failure;
};

Outcome pkt(const std::vector<std::string>& words) {
  CLI::App app;
  Outcome outcome;
  tools::register_pkt(app, outcome.code);
  std::vector<std::string> arguments(words.rbegin(), words.rend());
  arguments.emplace_back("pkt");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    app.parse(arguments);
  } catch (const tools::Failure& failure) {
    outcome.failure = failure.what();
    outcome.code = static_cast<int>(failure.code());
  }
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

class Verb : public testing::Test {
 protected:
  Verb() {
    std::string name = fs::temp_directory_path() / "pkt_verb_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~Verb() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    tools::save_file(path(name), text);
    return path(name);
  }

  const std::string good_ = open_passively;
  const std::string failing_ = open_passively + "+0 write(4, ..., 10) = 11\n";
  fs::path folder_;
};

TEST_F(Verb, CheckCountsConstructs) {
  std::string const file = write(
      "a.pkt",
      good_ + "+0 > [ect0] P. 1:2(1) ack 1 <nop,nop,sack 1:2>\n+0 `sysctl net.ipv4.tcp_sack=1`\n");
  Outcome const counted = pkt({"check", file, "--constructs", "--json", path("out.json")});
  EXPECT_EQ(counted.code, 0);
  EXPECT_THAT(counted.out, HasSubstr("     2  TCP packet that arrives"));
  EXPECT_THAT(counted.out, HasSubstr("     1  option sack"));
  EXPECT_THAT(counted.out, HasSubstr("     1  command that sets"));
  auto const report = nlohmann::json::parse(read(path("out.json")));
  EXPECT_EQ(report["constructs"]["call accept"], 1);
  EXPECT_THAT(pkt({"check", file}).out, Not(HasSubstr("option sack")));
}

TEST_F(Verb, LenientRunsWhatItCan) {
  std::string const file = write("a.pkt", good_ + "+0 frobnicate(4) = 0\n");
  EXPECT_EQ(pkt({"run", file, "--pcapng", path("captures")}).code, 2);
  Outcome const ran = pkt({"run", file, "--lenient", "--pcapng", path("captures")});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("left out: "));
  EXPECT_THAT(ran.out, HasSubstr("the call frobnicate"));
}

TEST_F(Verb, MissingFilesGiveExitCodeThree) {
  for (const char* const verb : {"run", "check"}) {
    Outcome const none = pkt({verb, path("none.pkt")});
    EXPECT_EQ(none.code, 3) << verb;
    EXPECT_THAT(none.failure, HasSubstr("none.pkt: there is no such file")) << verb;
  }
  write("good.pkt", good_);
  fs::create_symlink("nowhere", folder_ / "gone.pkt");
  fs::create_symlink("loop.pkt", folder_ / "loop.pkt");
  Outcome const run = pkt({"run", folder_.string()});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.out, HasSubstr("gone.pkt: cannot be read"));
  EXPECT_THAT(run.out, HasSubstr("loop.pkt: cannot be read"));
  EXPECT_THAT(run.out, HasSubstr("1 of 3 scripts pass, 0 fail, 2 cannot be run"));
  Outcome const check = pkt({"check", folder_.string()});
  EXPECT_EQ(check.code, 3);
  EXPECT_THAT(check.err, HasSubstr("gone.pkt: cannot be read"));
  EXPECT_THAT(check.out, HasSubstr("3 scripts, 7 events, 2 scripts with an error"));
}

TEST_F(Verb, ACheckIsWrittenAsJson) {
  write("good.pkt", good_);
  write("wrong.pkt", "hello\n");
  EXPECT_EQ(pkt({"check", folder_.string(), "--json", path("report")}).code, 2);
  auto const report = tools::parse_json(read(path("report")));
  EXPECT_EQ(report["scripts"], 2);
  EXPECT_EQ(report["events"], 7);
  ASSERT_EQ(report["errors"].size(), 1u);
  EXPECT_THAT(report["errors"][0].get<std::string>(), HasSubstr("wrong.pkt:1:"));
  EXPECT_EQ(pkt({"check", path("good.pkt"), "--json", path("good.pkt")}).code, 2);
  EXPECT_EQ(read(path("good.pkt")), good_);
}

TEST_F(Verb, APipeIsNotAScript) {
  ASSERT_EQ(mkfifo(path("pipe.pkt").c_str(), 0600), 0);
  for (std::string const& place : {path("pipe.pkt"), folder_.string()}) {
    EXPECT_EQ(pkt({"run", place}).code, 2);
    Outcome const check = pkt({"check", place});
    EXPECT_EQ(check.code, 2);
    EXPECT_THAT(check.err, HasSubstr("pipe.pkt: is not a regular file"));
  }
  EXPECT_EQ(pkt({"explain", path("pipe.pkt") + ":1"}).code, 2);
  write("wrong.pkt", "hello\n");
  EXPECT_EQ(pkt({"check", path("wrong.pkt")}).code, 2);
  EXPECT_EQ(pkt({"run", path("wrong.pkt")}).code, 2);
}

TEST_F(Verb, InputsAreNotOverwritten) {
  std::string const file = write("good.pkt", good_);
  fs::create_symlink("good.pkt", folder_ / "link");
  for (const char* const option : {"--json", "--junit"}) {
    for (const char* const name : {"good.pkt", "link"}) {
      EXPECT_EQ(pkt({"run", file, option, path(name)}).code, 2) << option << name;
      EXPECT_EQ(read(file), good_) << option << name;
    }
  }
  std::string const before = read("pcaps/rfc2018-4-linux-gap-reported/capture.pcapng");
  std::string const capture = write("c.pcapng", before);
  EXPECT_EQ(pkt({"from-capture", capture, "--out", capture}).code, 2);
  EXPECT_EQ(read(capture), before);
}

TEST_F(Verb, FindingsArePrintedBeforeReportsAreSaved) {
  std::string const file = write("bad.pkt", failing_);
  std::string const blocked = write("blocked", "a file, no folder");
  Outcome const run = pkt({"run", file, "--pcapng", blocked});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.out, HasSubstr("write returned another result"));
}

TEST_F(Verb, EachCaptureHasItsOwnNameAndIsInTheReport) {
  fs::create_directory(folder_ / "a");
  write("a/b.pkt", failing_);
  write("a_b.pkt", failing_);
  Outcome const run =
      pkt({"run", folder_.string(), "--pcapng", path("captures"), "--json", path("out.json")});
  EXPECT_EQ(run.code, 1);
  auto const json = tools::parse_json(read(path("out.json")));
  std::set<std::string> captures;
  for (auto const& one : json["results"]) {
    captures.insert(one["capture"].get<std::string>());
    EXPECT_EQ(one["text"], "+0 write(4, ..., 10) = 11");
    EXPECT_EQ(one["line"], 9);
    EXPECT_TRUE(fs::exists(one["capture"].get<std::string>()));
    EXPECT_THAT(run.out, HasSubstr("capture: " + one["capture"].get<std::string>()));
  }
  EXPECT_EQ(captures.size(), 2u);
}

TEST_F(Verb, NamesNeedNotBeUtf8) {
  write("caf\xe9\n.pkt", failing_);
  Outcome const tap = pkt({"run", folder_.string(), "--tap", "--pcapng", path("captures"), "--json",
                           path("out.json"), "--junit", path("out.xml")});
  EXPECT_EQ(tap.code, 1) << tap.failure;
  EXPECT_EQ(tools::utf8_only(tap.out), tap.out);
  EXPECT_THAT(tap.out, HasSubstr("caf\xef\xbf\xbd?.pkt\n"));
  std::string const junit = read(path("out.xml"));
  EXPECT_EQ(tools::utf8_only(junit), junit);
  EXPECT_TRUE(nlohmann::json::accept(read(path("out.json"))));
}

TEST_F(Verb, AFailedCheckNamesTheScript) {
  std::string const file = write("good.pkt", good_);
  CheckHandler const before = set_check_handler(nullptr);
  for (std::vector<std::string> const& verb :
       {std::vector<std::string>{"run", file}, {"explain", file + ":2"}}) {
    EXPECT_EQ(pkt(verb).code, 0);
    EXPECT_EQ(set_check_handler(nullptr), print_failed_check);
  }
  set_check_handler(print_failed_check);
  Overrides overrides;
  overrides.before_referee = [](std::span<std::byte> ours) { CHECK(ours.empty()); };
  EXPECT_DEATH(run_text(good_, overrides),
               "internal error: CHECK\\(ours.empty\\(\\)\\) failed at .*pkt_test.cpp:[0-9]+, under "
               "x.pkt:6; please report");
  EXPECT_DEATH(CHECK(before == print_failed_check && false), "pkt_test.cpp:[0-9]+; please report");
  set_check_handler(before);
}

TEST_F(Verb, ExplainKnowsCallsThatWaitAndItsOptions) {
  std::string const file = write("waits.pkt", good_ +
                                                  "+0...0.2 read(4, ..., SIZE) = 100\n"
                                                  "+.2 < P. 1:101(100) ack 1 win 65535\n"
                                                  "+.2 > . 1:1(0) ack 101\n");
  Explained const waits = explain(file + ":9", {{"SIZE", "100"}});
  EXPECT_THAT(waits.after, HasSubstr("ESTABLISHED"));
  Explained const arrives = explain(file + ":10", {{"SIZE", "100"}});
  EXPECT_THAT(arrives.before, HasSubstr("ESTABLISHED"));
  EXPECT_EQ(pkt({"explain", file + ":9"}).code, 2);
  Outcome const said = pkt({"explain", file + ":9", "-D", "SIZE=100"});
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.out, Not(HasSubstr("fails")));
  EXPECT_EQ(pkt({"explain", file + ":9", "-D", "SIZE=100", "--profile", "linux"}).code, 0);
  EXPECT_THAT(pkt({"explain", file + ":9", "-D", "SIZE=100", "--profile", "solaris"}).failure,
              HasSubstr("there is no profile 'solaris'"));
}

/// The script in the README passes, and each of its steps has a state that explain can print.
TEST_F(Verb, TheReadmesScriptPasses) {
  std::string const text = read("conformance/script/README.md");
  std::size_t const begin = text.find("```\n// a comment") + 4;
  std::string const script = text.substr(begin, text.find("```", begin) - begin);
  std::string const file = write("readme.pkt", script);
  Ran const ran = run_text(script);
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
  for (Event const& event : parse(file, script, {}).events) {
    EXPECT_NE(explain(file + ":" + std::to_string(event.place.line)).after, "");
  }
}

}  // namespace
}  // namespace lockstep::conformance::script
