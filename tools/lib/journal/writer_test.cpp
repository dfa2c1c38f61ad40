// What happens to the file that a journal is written to.
#include "tools/lib/journal/writer.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tools/base/process/failure.hpp"

namespace lockstep::journal {
namespace {

namespace fs = std::filesystem;

class Written : public ::testing::Test {
 protected:
  Written() : folder_(fs::path(testing::TempDir()) / "lockstep_writer") { fs::remove_all(folder_); }
  ~Written() override { fs::remove_all(folder_); }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

// A run that ends before its first record leaves the previous journal in place.
TEST_F(Written, NothingUntilTheFirstRecord) {
  fs::path const path = folder_ / "deeper" / "journal";
  {
    Writer const none(path.string());
  }
  EXPECT_TRUE(fs::exists(folder_ / "deeper"));
  EXPECT_FALSE(fs::exists(path));
  std::ofstream(path) << std::string(10'000, 'x');
  {
    Writer const none(path.string());
  }
  EXPECT_EQ(text_of(path), std::string(10'000, 'x'));
  {
    Writer one(path.string());
    one.begin(Kind::begin);
    one.finish();
    EXPECT_EQ(text_of(path), "");
  }
  std::string const text = text_of(path);
  EXPECT_LT(text.size(), 100u);
  EXPECT_TRUE(text.starts_with(std::string(magic.begin(), magic.end())));
}

TEST_F(Written, AFileThatCannotBeCreatedIsRefused) {
  EXPECT_THROW(Writer("/proc/nothing/journal"), tools::Failure);
  EXPECT_THROW(Writer("/dev"), tools::Failure);
}

}  // namespace
}  // namespace lockstep::journal
