// Scripts in files: found in order, read whole, their errors with the file's name.
#include "conformance/script/files.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tools/cli/failure.hpp"

namespace lockstep::script {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto const* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder = fs::path(LOCKSTEP_BINARY_DIR) / "script_test" / test->name();
    fs::remove_all(folder);
    fs::create_directories(folder / "b");
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  static std::string failure_of(const std::string& name) {
    try {
      find_scripts({name});
      return "";
    } catch (const tools::Failure& failure) {
      EXPECT_EQ(failure.code(), tools::ExitCode::bad_input);
      return failure.what();
    }
  }
  fs::path folder;
};

TEST_F(FilesTest, FoldersGiveTheirScriptsInOrder) {
  std::string const late = write("z.pkt", "0 close(3) = 0\n");
  std::string const early = write("b/a.pkt", "");
  write("b/other.txt", "no script");
  auto const found = find_scripts({folder.string(), late});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].string(), early);
  EXPECT_EQ(found[1].string(), late);
  EXPECT_EQ(read_script(found[0]).script->events.size(), 0u);
  EXPECT_EQ(read_script(found[1]).script->events.size(), 1u);
}

TEST_F(FilesTest, WhatIsNotThereIsNamed) {
  EXPECT_EQ(failure_of("missing.pkt"), "missing.pkt: no such file or folder; name a script");
  EXPECT_EQ(failure_of(folder.string()),
            folder.string() + ": no *.pkt in this folder; name a script, or a folder of scripts");
}

TEST_F(FilesTest, AnErrorHasFileLineAndColumn) {
  std::string const name = write("typo.pkt", "0 close(3) = 0\n  +0 > T. 1:1(0)\n");
  ReadScript const read = read_script(name);
  EXPECT_FALSE(read.script);
  EXPECT_EQ(read.fault, name + ":2:8: 'T.'; expected TCP flags (some of F S R P . U E W A, or "
                               "-), or icmp, icmpv6");
}

}  // namespace
}  // namespace lockstep::script
