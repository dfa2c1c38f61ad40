// Files appear complete or not at all, and anything that is not a regular file is never replaced.
#include "tools/base/output/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

class Drafts : public testing::Test {
 protected:
  Drafts() : folder_(fs::path(testing::TempDir()) / "lockstep_output_test") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Drafts() override { fs::remove_all(folder_); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  static std::string contents(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path folder_;
};

TEST_F(Drafts, HaveNoNameUntilComplete) {
  fs::path const path = folder_ / "new" / "report.json";
  AtomicFile file(path);
  file.put("half");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "new"), {}), 0);
  file.keep();
  EXPECT_EQ(contents(path), "half");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "new"), {}), 1);
}

TEST_F(Drafts, LeaveTheOldFileUnlessKept) {
  fs::path const path = folder_ / "report.json";
  save_file(path.string(), "old");
  {
    AtomicFile file(path);
    file.put("new");
  }
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(files(), 1u);
  save_file(path.string(), "newer");
  EXPECT_EQ(contents(path), "newer");
}

TEST_F(Drafts, FollowALink) {
  fs::path const path = folder_ / "real";
  fs::path const link = folder_ / "link";
  save_file(path.string(), "old");
  fs::create_symlink("real", link);
  save_file(link.string(), "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(contents(path), "new");
}

// For root, a rename onto /dev/full or /dev/null would delete the device.
// Memory is a usual place for scratch files, though its folder stands among the devices.
TEST_F(Drafts, ReplaceAFileInMemory) {
  if (!fs::is_directory("/dev/shm")) {
    GTEST_SKIP() << "/dev/shm is not there";
  }
  std::string const path = "/dev/shm/lockstep-" + std::to_string(getpid());
  save_file(path, "first, and longer");
  save_file(path, "second");
  EXPECT_EQ(contents(path), "second");
  fs::remove(path);
}

TEST_F(Drafts, NeverReplaceADevice) {
  EXPECT_THROW(save_file("/dev/full", "text"), Failure);
  save_file("/dev/null", "text");
  for (const char* device : {"/dev/full", "/dev/null"}) {
    EXPECT_TRUE(fs::is_character_file(device)) << device;
    EXPECT_FALSE(fs::exists(std::string(device) + ".part")) << device;
  }
}

TEST_F(Drafts, ReportWhyTheyCannotBeWritten) {
  save_file((folder_ / "file").string(), "");
  for (const fs::path& path : {folder_, folder_ / "file" / "below", fs::path("/proc/none/x")}) {
    try {
      AtomicFile const file(path);
      ADD_FAILURE() << path;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::environment);
      EXPECT_NE(std::string(failure.what()).find("cannot be written ("), std::string::npos);
    }
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(Drafts, AreRefusedInPlaceOfTheInput) {
  std::string const input = (folder_ / "input").string();
  save_file(input, "precious");
  fs::create_symlink("input", folder_ / "link");
  EXPECT_THROW(refuse_overwrite(input, input), Failure);
  EXPECT_THROW(refuse_overwrite(input, (folder_ / "link").string()), Failure);
  refuse_overwrite(input, (folder_ / "other").string());
  refuse_overwrite(input, "");
}

TEST_F(Drafts, TwoOfOneNameAreRefused) {
  std::string const there = (folder_ / "there").string();
  save_file(there, "old");
  fs::create_symlink("there", folder_ / "link");
  EXPECT_THROW(refuse_same_output(there, (folder_ / "link").string()), Failure);
  EXPECT_THROW(refuse_same_output(there, (folder_ / "x" / ".." / "there").string()), Failure);
  EXPECT_THROW(refuse_same_output((folder_ / "new").string(), (folder_ / "new").string()), Failure);
  EXPECT_THROW(refuse_same_output("new", "./new"), Failure);
  refuse_same_output(there, (folder_ / "new").string());
  refuse_same_output("/dev/null", "/dev/null");
  refuse_same_output("", "");
  refuse_same_output(there, "");
}

}  // namespace
}  // namespace lockstep::tools
