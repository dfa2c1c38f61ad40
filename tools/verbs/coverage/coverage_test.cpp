// Creates small repositories and checks what the coverage verb reports about them.
#include "conformance/requirements/coverage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <test_paths.hpp>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// The marks are composed here so that a scan of this repository does not find citations in this
/// file.
const std::string mark = std::string("//") + "= ";
const std::string says = std::string("//") + "# ";

std::string cite(const std::string& target, const std::string& words) {
  return mark + target + "\n" + says + words + "\n";
}

std::string prove(const std::string& target, const std::string& words) {
  return mark + target + "\n" + mark + "type=test\n" + says + words + "\n";
}

/// A repository in the test's temporary folder; the destructor deletes it.
class Tree {
 public:
  Tree() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) /
            ("coverage_" + std::to_string(getpid()) + "_" + info->name());
    fs::remove_all(root_);
    write("conformance/requirements/rfc7.toml",
          "rfc = 7\ntitle = \"Seven\"\nrequirements = [\n"
          "  { id = \"7:A\", section = \"3.1\", level = \"MUST\", summary = \"a\" },\n"
          "  { id = \"7:B\", section = \"3.2\", level = \"MUST NOT\", summary = \"b\" },\n"
          "  { id = \"7:C\", section = \"4\", level = \"text\", summary = \"c\" },\n"
          "  { id = \"7:D\", section = \"4\", level = \"SHOULD\", summary = \"d\" },\n]\n");
    write("conformance/requirements/rfc6.toml",
          "rfc = 6\ntitle = \"Six\"\nrequirements = [\n"
          "  { id = \"6:A\", section = \"Packet Reception\", level = \"MUST\", "
          "summary = \"a\" },\n]\n");
    write("conformance/requirements/declined.toml", "");
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  void decline(const std::string& text) const {
    write("conformance/requirements/declined.toml", text);
  }

  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

/// A report, with the data that it points into.
struct Answer {
  explicit Answer(const Tree& tree, std::vector<int> whole = {})
      : catalogue(load_catalogue(tree.root())),
        citations(scan_tree(tree.root(), catalogue)),
        report(make_report(catalogue, citations, {{7}, std::move(whole)})) {}

  const CoverageRow& row(const std::string& id) const {
    return report.rows.at(catalogue.index_of.at(id));
  }

  Catalogue catalogue;
  Citations citations;
  CoverageReport report;
};

/// Runs the verb alone, as main() does. Returns its exit code; `out` gets its output or error
/// message.
int run(const Tree& tree, std::vector<const char*> arguments, std::string& out, std::string& err) {
  const std::string root = tree.root().string();
  arguments.insert(arguments.begin(), {"lockstep", "coverage", "--root", root.c_str()});
  CLI::App app;
  int exit_code = 0;
  register_coverage(app, exit_code);
  testing::internal::CaptureStdout();
  err.clear();
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const Failure& failure) {
    exit_code = static_cast<int>(failure.code());
    err = failure.what();
  }
  out = testing::internal::GetCapturedStdout();
  return exit_code;
}

void cover_all(const Tree& tree) {
  tree.write("core/tcp/x.cpp", cite("rfc7#3.1", "7:A words") + "int x;\n" +
                                   cite("rfc7#3.2", "7:B words") + "int y;\n" +
                                   cite("rfc7#4", "7:C words") + "int z;\n");
  tree.write("core/tcp/x_test.cpp", prove("rfc7#3.1", "7:A") + "\n" + prove("rfc7#4", "7:C"));
  tree.write("pcaps/one/scenario.toml", "title = \"one\"\nshows = [\"7:B\"]\n");
}

TEST(Coverage, BareTreeNamesEveryBindingRow) {
  const Tree tree;
  const Answer answer(tree);
  EXPECT_TRUE(answer.report.has_finding());
  EXPECT_TRUE(answer.row("7:A").bare());
  EXPECT_TRUE(answer.row("7:B").bare());
  EXPECT_TRUE(answer.row("7:C").bare());
  EXPECT_FALSE(answer.row("7:D").bare()) << "a SHOULD need not be shown";
  EXPECT_STREQ(answer.row("7:D").standing(), "open");
}

TEST(Coverage, AdviceOfAWholeRfcIsRequired) {
  const Tree tree;
  cover_all(tree);
  EXPECT_FALSE(Answer(tree).report.has_finding());
  {
    const Answer answer(tree, {7, 6});
    EXPECT_TRUE(answer.report.has_finding());
    EXPECT_TRUE(answer.row("7:D").bare());
    EXPECT_TRUE(answer.report.summaries.back().whole);
    EXPECT_FALSE(answer.report.summaries.front().whole) << "6 is not in scope";
    EXPECT_EQ(answer.report.summaries.back().advised_shown, 0);
  }
  tree.write("core/y.cpp", cite("rfc7#4", "7:D"));
  EXPECT_TRUE(Answer(tree, {7}).row("7:D").bare()) << "code alone shows nothing";
  tree.write("core/y.cpp", "");
  tree.write("core/y_test.cpp", prove("rfc7#4", "7:D"));
  EXPECT_FALSE(Answer(tree, {7}).report.has_finding()) << "shown, wherever its code is";
  tree.write("core/y_test.cpp", "");
  tree.decline("[[declined]]\nid = \"7:D\"\nreason = \"no\"\n");
  EXPECT_FALSE(Answer(tree, {7}).report.has_finding());
  EXPECT_EQ(Answer(tree, {7}).report.summaries.back().advised_shown, 1);
}

TEST(Coverage, JudgesCountAsNeitherCodeNorTest) {
  const Tree tree;
  tree.write("core/x.cpp", cite("rfc7#3.1", "7:A"));
  tree.write("sim/checkers/x.cpp", cite("rfc7#3.1", "7:A"));
  tree.write("tools/verbs/lint/x.cpp", cite("rfc7#3.1", "7:A"));
  tree.write("conformance/replay/x.cpp", cite("rfc7#3.1", "7:A"));
  const Answer answer(tree);
  EXPECT_THAT(answer.row("7:A").code, SizeIs(1));
  EXPECT_THAT(answer.row("7:A").judges, SizeIs(3));
  EXPECT_TRUE(answer.row("7:A").bare());
}

TEST(Coverage, ScriptsCountAsTests) {
  const Tree tree;
  tree.write("core/x.cpp", cite("rfc7#3.1", "7:A"));
  tree.write("conformance/script/x.pkt", std::string("#") + "= rfc7#3.1\n#" + "# 7:A words\n");
  const Answer answer(tree);
  EXPECT_THAT(answer.row("7:A").scripts, SizeIs(1));
  EXPECT_THAT(answer.row("7:A").tests, IsEmpty());
  EXPECT_FALSE(answer.row("7:A").bare());
}

/// The name that a scan of `text` gives to its first citation.
std::string name_in(const char* file, const std::string& text) {
  Catalogue catalogue;
  catalogue.rows = {{"7:A", 7, "3.1", "MUST", "a"}};
  catalogue.index_of = {{"7:A", 0}};
  Citations out;
  scan_text(file, text, catalogue, out);
  EXPECT_THAT(out.found, SizeIs(1));
  EXPECT_THAT(out.problems, IsEmpty());
  return out.found.empty() ? "nothing was found" : out.found.front().name;
}

TEST(Coverage, CitationsHaveTheNamesOfTheirTests) {
  const std::string cited = prove("rfc7#3.1", "7:A");
  const char* const cpp = "core/x_test.cpp";
  EXPECT_EQ(name_in(cpp, cited + "TEST(Suite, Name) {\n  f();\n}\n"), "Suite.Name");
  EXPECT_EQ(name_in(cpp, cited + "// Why.\nTEST_P(Suite, Name) {\n}\n"), "Suite.Name");
  EXPECT_EQ(name_in(cpp, "TEST(Suite, Name) {\n  f();\n  " + mark + "rfc7#3.1\n  " + says +
                             "7:A\n  g();\n}\n"),
            "Suite.Name");
  EXPECT_EQ(name_in(cpp, cited + "int helper();\nTEST(Suite, Name) {\n}\n"), "");
  EXPECT_EQ(name_in(cpp, "TEST(Suite, Name) {\n}\n" + cited + "int helper();\n"), "");
  EXPECT_EQ(name_in("core/x.cpp", cite("rfc7#3.1", "7:A") + "if (EXPECT(a, b)) {\n}\n"), "");
  const std::string hash = "#";
  const std::string python = hash + "= rfc7#3.1\n" + hash + "# 7:A\n";
  const char* const py = "conformance/scapy/test_x.py";
  EXPECT_EQ(name_in(py, python + "def test_it(tcp):\n    pass\n"), "test_it");
  EXPECT_EQ(name_in(py, python + "@parametrize(\n    'a',\n)\ndef test_it(tcp):\n"), "test_it");
  EXPECT_EQ(name_in(py, "def test_it(tcp):\n    " + hash + "= rfc7#3.1\n    " + hash + "# 7:A\n"),
            "test_it");
  EXPECT_EQ(name_in(py, "def test_it():\n    pass\n" + python + "X = 1\n"), "");
}

TEST(Coverage, CodeTestsAndScenariosTogetherAreFine) {
  const Tree tree;
  cover_all(tree);
  const Answer answer(tree);
  EXPECT_FALSE(answer.report.has_finding());
  EXPECT_THAT(answer.report.problems, IsEmpty());
  ASSERT_THAT(answer.row("7:A").code, SizeIs(1));
  EXPECT_EQ(answer.row("7:A").code.front()->file, "core/tcp/x.cpp");
  EXPECT_EQ(answer.row("7:A").code.front()->line, 2);
  ASSERT_THAT(answer.row("7:C").tests, SizeIs(1));
  EXPECT_EQ(answer.row("7:C").tests.front()->line, 7);
  ASSERT_THAT(answer.row("7:B").scenarios, SizeIs(1));
  EXPECT_EQ(answer.row("7:B").scenarios.front()->line, 2);
}

TEST(Coverage, CodeOnlyAndTestOnlyAreBare) {
  const Tree tree;
  tree.write("core/x.cpp", cite("rfc7#3.1", "7:A"));
  tree.write("core/x_test.cpp", prove("rfc7#3.2", "7:B"));
  const Answer answer(tree);
  EXPECT_TRUE(answer.row("7:A").bare());
  EXPECT_TRUE(answer.row("7:B").bare());
}

TEST(Coverage, OtherRfcsDoNotDecide) {
  const Tree tree;
  cover_all(tree);
  const Answer answer(tree);
  EXPECT_TRUE(answer.row("6:A").bare());
  EXPECT_FALSE(answer.report.has_finding());
  EXPECT_EQ(answer.report.summaries.front().rfc, 6) << "RFCs are ordered as numbers";
}

TEST(Coverage, SeveralIdsAndContinuedWords) {
  const Tree tree;
  tree.write("core/x.hpp", "  " + cite("rfc7#3.1", "7:A, 7:B ,7:C words, and more") + "  " + says +
                               "words go on\n");
  const Answer answer(tree);
  EXPECT_THAT(answer.citations.found, SizeIs(3));
  EXPECT_THAT(answer.citations.problems, IsEmpty());
}

TEST(Coverage, AdjacentCitationsAreTwo) {
  const Tree tree;
  tree.write("core/x.cpp", cite("rfc7#3.1", "7:A") + prove("rfc7#3.2", "7:B") +
                               cite("rfc7#4", "7:C") + cite("rfc7#3.1", "7:C"));
  const Answer answer(tree);
  EXPECT_THAT(answer.row("7:A").code, SizeIs(1));
  EXPECT_THAT(answer.row("7:B").tests, SizeIs(1));
  EXPECT_THAT(answer.row("7:C").code, SizeIs(2)) << "type=test ends with its citation";
  ASSERT_THAT(answer.citations.notes, SizeIs(1)) << "a section ends with its citation";
  EXPECT_EQ(answer.citations.notes[0].line, 9);
}

TEST(Coverage, TestFilesCountAndTheirHelpersDoNot) {
  const Tree tree;
  const std::string hash = "#";
  const std::string python = hash + "= rfc6#packet-reception\n" + hash + "# 6:A words\n";
  tree.write("core/x_test.cpp", cite("rfc7#3.1", "7:A"));
  tree.write("conformance/rfc7/test_y.py", python);
  tree.write("pcaps/author/z_test.py", python);
  tree.write("tools/python/test_v.py", python);
  tree.write("conformance/rfc7/oracle.py", python);
  tree.write("pcaps/author/test_w.toml", python);
  tree.write("sim/w.cpp", prove("rfc7#3.2", "7:B"));
  const Answer answer(tree);
  EXPECT_THAT(answer.citations.problems, IsEmpty());
  EXPECT_THAT(answer.row("7:A").tests, SizeIs(1));
  EXPECT_THAT(answer.row("6:A").tests, SizeIs(3));
  EXPECT_THAT(answer.row("6:A").judges, SizeIs(2));
  EXPECT_THAT(answer.row("6:A").code, IsEmpty());
  EXPECT_THAT(answer.row("7:B").tests, SizeIs(1));
}

TEST(Coverage, OtherFoldersAndTheListItselfAreNotScanned) {
  const Tree tree;
  tree.write("build/x.cpp", cite("rfc7#3.1", "7:NONE"));
  tree.write("conformance/requirements/x.py", "#= rfc7#3.1\n## 7:NONE\n");
  tree.write("core/x.txt", cite("rfc7#3.1", "7:NONE"));
  const Answer answer(tree);
  EXPECT_THAT(answer.citations.found, IsEmpty());
  EXPECT_THAT(answer.citations.problems, IsEmpty());
}

/// An ill-formed citation, and the message expected for it.
struct Wrong {
  const char* name;
  std::string text;
  int line;
  std::string message;
};

class WrongCitation : public testing::TestWithParam<Wrong> {};

TEST_P(WrongCitation, IsNamedWithItsLine) {
  Catalogue catalogue;
  catalogue.rows = {{"7:A", 7, "3.1", "MUST", "a"}};
  catalogue.index_of = {{"7:A", 0}};
  Citations out;
  scan_text("core/x.cpp", GetParam().text, catalogue, out);
  ASSERT_THAT(out.problems, SizeIs(1));
  EXPECT_EQ(out.problems.front().file, "core/x.cpp");
  EXPECT_EQ(out.problems.front().line, GetParam().line);
  EXPECT_THAT(out.problems.front().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongCitation,
    testing::Values(Wrong{"unknown_id", "\n" + cite("rfc7#3.1", "7:Z words"), 3,
                          "7:Z is not a requirement"},
                    Wrong{"other_rfc", cite("rfc8#3.1", "7:A words"), 2, "not in rfc8#3.1"},
                    Wrong{"no_target", says + "7:A words\n", 1, "without a line rfcN#SECTION"},
                    Wrong{"no_id", cite("rfc7#3.1", "words alone"), 2, "id of a requirement first"},
                    Wrong{"no_words", mark + "rfc7#3.1\nint x;\n", 1, "without its requirement"},
                    Wrong{"no_words_at_the_end", mark + "rfc7#3.1", 1, "without its requirement"},
                    Wrong{"bad_target", mark + "rfc7 3.1\n", 1, "is not a citation"},
                    Wrong{"empty_section", mark + "rfc7#\n", 1, "is not a citation"},
                    Wrong{"bad_type", mark + "rfc7#3.1\n" + mark + "type=code\n" + says + "7:A\n",
                          2, "only type=test"}),
    [](const testing::TestParamInfo<Wrong>& wrong) { return wrong.param.name; });

TEST(Coverage, AnotherSectionIsANoteAndNoFinding) {
  const Tree tree;
  tree.write("core/x.cpp", cite("rfc7#3.10", "7:A words"));
  const Answer answer(tree);
  EXPECT_THAT(answer.report.problems, IsEmpty());
  ASSERT_THAT(answer.report.notes, SizeIs(1));
  EXPECT_EQ(answer.report.notes[0].line, 2);
  EXPECT_THAT(answer.report.notes[0].message, HasSubstr("section 3.1 of RFC 7, not in rfc7#3.10"));
}

TEST(Coverage, OuterAndInnerSectionsFit) {
  const Tree tree;
  tree.write("core/x.cpp", cite("rfc7#3", "7:A") + "\n" + cite("rfc7#3.2.1", "7:B"));
  const Answer answer(tree);
  EXPECT_THAT(answer.report.problems, IsEmpty());
  EXPECT_THAT(answer.report.notes, IsEmpty());
}

TEST(Coverage, ScenarioWithUnknownIdsAndBadToml) {
  const Tree tree;
  tree.write("pcaps/a/scenario.toml",
             "shows = [\"7:A\", \"7:Z\"]\n"
             "[[twin]]\nclause = \"7:Y\"\n[[twin]]\nclause = \"7:B\"\n");
  tree.write("pcaps/b/scenario.toml", "title = \"b\"\nshows = [\"7:A\"\n");
  const Answer answer(tree);
  ASSERT_THAT(answer.citations.problems, SizeIs(3));
  EXPECT_EQ(answer.citations.problems[0].line, 1);
  EXPECT_THAT(answer.citations.problems[0].message, HasSubstr("7:Z"));
  EXPECT_EQ(answer.citations.problems[1].line, 3);
  EXPECT_THAT(answer.citations.problems[1].message, HasSubstr("7:Y"));
  EXPECT_EQ(answer.citations.problems[2].file, "pcaps/b/scenario.toml");
  EXPECT_THAT(answer.row("7:A").scenarios, SizeIs(1));
  EXPECT_THAT(answer.row("7:B").scenarios, IsEmpty()) << "a twin's clause proves nothing";
}

TEST(Coverage, DeclinedRowsAreNotBare) {
  const Tree tree;
  tree.decline(
      "[[declined]]\nids = [\"7:A\", \"7:B\"]\nreason = \"no\"\n"
      "[[declined]]\nid = \"7:C\"\nreason = \"never\"\n");
  const Answer answer(tree);
  EXPECT_FALSE(answer.report.has_finding());
  EXPECT_EQ(answer.row("7:C").declined->reason, "never");
  EXPECT_EQ(answer.row("7:C").declined->line, 5);
}

TEST(Coverage, DeclinedAndCitedInCodeIsAFinding) {
  const Tree tree;
  cover_all(tree);
  tree.decline("[[declined]]\nid = \"7:A\"\nreason = \"no\"\n");
  const Answer answer(tree);
  EXPECT_TRUE(answer.report.has_finding());
  ASSERT_THAT(answer.report.problems, SizeIs(1));
  EXPECT_EQ(answer.report.problems[0].line, 2);
  EXPECT_THAT(answer.report.problems[0].message, HasSubstr("core/tcp/x.cpp:2"));
}

TEST(Coverage, DecliningAnUnknownRowIsAFinding) {
  const Tree tree;
  cover_all(tree);
  tree.decline("[[declined]]\nid = \"7:Z\"\nreason = \"no\"\n");
  EXPECT_THAT(Answer(tree).report.problems, SizeIs(1));
  EXPECT_TRUE(Answer(tree).report.has_finding());
}

TEST(Coverage, BadFilesEndWithFileAndLine) {
  const Tree tree;
  const auto message = [&tree] {
    try {
      load_catalogue(tree.root());
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      return std::string(failure.what());
    }
    return std::string("nothing was wrong");
  };
  tree.decline("[[declined]]\nid = \"7:A\"\n");
  EXPECT_THAT(message(), HasSubstr("declined.toml:1: expected a string under the key 'reason'"));
  tree.decline("[[declined]]\nreason = \"no\"\n");
  EXPECT_THAT(message(), HasSubstr("expected the key 'id' or 'ids'"));
  tree.decline("[[declined]]\nids = [\"7:A\", \"7:A\"]\nreason = \"no\"\n");
  EXPECT_THAT(message(), HasSubstr("declined.toml:2: 7:A is a duplicate"));
  tree.decline("declined = \n");
  EXPECT_THAT(message(), HasSubstr("declined.toml:1:"));
  tree.decline("");
  tree.write("conformance/requirements/rfc8.toml", "rfc = 8\n");
  EXPECT_THAT(message(), HasSubstr("rfc8.toml:1: expected the keys"));
}

TEST(Coverage, VerbPrintsAndExits) {
  const Tree tree;
  std::string out;
  std::string err;
  EXPECT_EQ(run(tree, {"--rfc", "7"}, out, err), 1);
  EXPECT_THAT(out, HasSubstr("neither in code nor in a test"));
  EXPECT_THAT(out, HasSubstr("finding: 3 bare requirements, 0 problems"));
  EXPECT_THAT(out, Not(HasSubstr("Six")));
  cover_all(tree);
  EXPECT_EQ(run(tree, {"--rfc", "7"}, out, err), 0);
  EXPECT_THAT(out, HasSubstr("7:A  MUST      3.1      shown  core/tcp/x.cpp:2      1        0  "));
  EXPECT_EQ(run(tree, {"--rfc", "7", "--places"}, out, err), 0);
  EXPECT_THAT(out, HasSubstr("      code      core/tcp/x.cpp:2\n"));
  EXPECT_THAT(out, HasSubstr("      scenario  pcaps/one/scenario.toml:2\n"));
  EXPECT_THAT(out, HasSubstr("fine: 0 bare requirements, 0 problems"));
  EXPECT_EQ(run(tree, {"--rfc", "7", "--rfc", "6", "--bare"}, out, err), 1);
  EXPECT_THAT(out, HasSubstr("BARE 6:A"));
  EXPECT_THAT(out, Not(HasSubstr("7:A")));
  EXPECT_THAT(err, IsEmpty());
}

TEST(Coverage, VerbPrintsJson) {
  const Tree tree;
  cover_all(tree);
  std::string out;
  std::string err;
  EXPECT_EQ(run(tree, {"--rfc", "7", "--json"}, out, err), 0);
  const auto document = parse_json(out);
  EXPECT_EQ(document["finding"], false);
  ASSERT_EQ(document["requirements"].size(), 4U);
  EXPECT_EQ(document["requirements"][0]["id"], "7:A");
  EXPECT_EQ(document["requirements"][0]["code"][0]["line"], 2);
  EXPECT_EQ(document["summaries"][0]["proven"], 3);
  std::ostringstream text;
  text << std::ifstream(LOCKSTEP_SOURCE_DIR "/tools/verbs/coverage/README.md").rdbuf();
  for (const auto* object : {&document, &document["requirements"][0], &document["summaries"][0],
                             &document["requirements"][0]["code"][0]}) {
    for (const auto& [key, value] : object->items()) {
      EXPECT_THAT(text.str(), HasSubstr("`" + key + "`")) << "README.md describes every key";
    }
  }
}

constexpr const char* live_results =
    R"({"kernel": "6.1", "reasons": ["It is <old>."], "differing": [{"target": "linux",
    "test": "test_x", "words": "A in place of B", "reason": 1}], "clauses": {"7:A":
    {"linux": {"passed": 2, "failed": ["test_x"]}, "tap:lockstep": {"passed": 3, "failed": []}}}})";

TEST(Coverage, VerbReportsResultsOfLiveTargets) {
  const Tree tree;
  cover_all(tree);
  tree.write("conformance/scapy/targets.json", live_results);
  const std::string page = (tree.root() / "out" / "page.html").string();
  std::string out;
  std::string err;
  EXPECT_EQ(run(tree, {"--rfc", "7", "--json", "--html", page.c_str()}, out, err), 0);
  const auto document = parse_json(out);
  const auto& live = document["requirements"][0]["live"];
  EXPECT_EQ(live["linux"]["passed"], 2);
  EXPECT_EQ(live["linux"]["tests"], 3);
  EXPECT_EQ(live["tap:lockstep"]["tests"], 3);
  EXPECT_THAT(document["requirements"][1]["live"], IsEmpty());
  std::ostringstream read;
  read << std::ifstream(page).rdbuf();
  EXPECT_THAT(read.str(), HasSubstr("data-tap=\"good\" data-linux=\"bad\""));
  EXPECT_THAT(read.str(), HasSubstr("It is &lt;old&gt;."));
}

TEST(Coverage, LiveResultsOfAnotherShapeAreNamed) {
  const Tree tree;
  cover_all(tree);
  for (const char* text : {"{", "{}", R"({"kernel": 6})",
                           R"({"kernel": "6", "reasons": [], "differing": [], "clauses": {"7:A":
                           {"linux": {"passed": 1, "failed": ["test_of_nobody"]}}}})"}) {
    tree.write("conformance/scapy/targets.json", text);
    std::string out;
    std::string err;
    EXPECT_EQ(run(tree, {"--rfc", "7"}, out, err), 2) << text;
    EXPECT_THAT(err, HasSubstr("conformance/scapy/targets.json: expected the output of")) << text;
  }
}

TEST(Coverage, VerbWritesAPage) {
  const Tree tree;
  cover_all(tree);
  tree.decline("[[declined]]\nid = \"7:D\"\nreason = \"<b>never & ever</b>\"\n");
  const std::string page = (tree.root() / "out" / "page.html").string();
  std::string out;
  std::string err;
  EXPECT_EQ(run(tree, {"--rfc", "7", "--html", page.c_str()}, out, err), 0);
  std::ostringstream read;
  read << std::ifstream(page).rdbuf();
  const std::string text = read.str();
  EXPECT_THAT(text, HasSubstr("data-rfc=\"7\" data-level=\"MUST NOT\" data-is=\"shown\""));
  EXPECT_THAT(text, HasSubstr("<code>core/tcp/x.cpp:2</code>"));
  EXPECT_THAT(text, HasSubstr("&lt;b&gt;never &amp; ever&lt;/b&gt;"));
  EXPECT_THAT(text, Not(HasSubstr("6:A"))) << "not asked for";
  for (const char* other_file : {"http:", "https:", "src=", "<link", "@import", "url("}) {
    EXPECT_THAT(text, Not(HasSubstr(other_file)));
  }
}

TEST(Coverage, VerbRefusesUnknownArguments) {
  const Tree tree;
  std::string out;
  std::string err;
  EXPECT_EQ(run(tree, {"--rfc", "5"}, out, err), 2);
  EXPECT_THAT(err, HasSubstr("--rfc 5: no such RFC"));
  EXPECT_THAT(out, IsEmpty());
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 0) << err;
  fs::remove_all(tree.root() / "conformance");
  EXPECT_EQ(run(tree, {}, out, err), 2);
  EXPECT_THAT(err, HasSubstr("--root"));
}

TEST(Coverage, RootIsFoundFromBelow) {
  const Tree tree;
  fs::create_directories(tree.root() / "core" / "deep");
  EXPECT_EQ(find_root(tree.root() / "core" / "deep"), tree.root().lexically_normal());
  EXPECT_THROW(find_root(fs::path("/")), Failure);
}

/// The check that CI relies on: no required row of this repository is bare, and no citation is
/// wrong.
TEST(Coverage, ThisRepositoryHasNoBareRow) {
  const Catalogue catalogue = load_catalogue(LOCKSTEP_SOURCE_DIR);
  const Citations citations = scan_tree(LOCKSTEP_SOURCE_DIR, catalogue);
  const CoverageReport report = make_report(catalogue, citations, default_scope());
  EXPECT_FALSE(report.has_finding()) << coverage_text(report, catalogue, {{}, true});
}

/// The real list (law 7): it loads, and it contains every declined id.
TEST(Coverage, ThisRepositorysListLoads) {
  const Catalogue catalogue = load_catalogue(LOCKSTEP_SOURCE_DIR);
  EXPECT_EQ(catalogue.rows.size(), 1154U);
  EXPECT_EQ(catalogue.titles.size(), 53U);
  EXPECT_THAT(catalogue.problems, IsEmpty());
  for (const auto& [id, declined] : catalogue.declined) {
    EXPECT_GT(declined.reason.size(), 60U) << id << " needs a reason that a reviewer can judge";
  }
}

}  // namespace
}  // namespace lockstep::tools
