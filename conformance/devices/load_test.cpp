// Finding and loading devices: what is wrong with a file is said in one line.
#include "conformance/devices/load.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

using testing::HasSubstr;

const std::string built = LOCKSTEP_BINARY_DIR "/devices/";

std::string failure_of(const std::string& path) {
  try {
    load_device(path);
  } catch (const tools::Failure& failure) {
    EXPECT_EQ(failure.code(), tools::ExitCode::bad_input);
    return failure.what();
  }
  return "";
}

TEST(LoadDevice, OurOwnHasEveryCall) {
  const lockstep_device_calls& calls = load_device(built + "lockstep.so");
  EXPECT_STREQ(calls.name, "lockstep");
  EXPECT_EQ(missing_calls(calls), "");
}

TEST(LoadDevice, LwipLacksUrgent) {
  if (!std::filesystem::exists(built + "lwip.so")) {
    GTEST_SKIP() << "built without liblwip-dev";
  }
  EXPECT_EQ(missing_calls(load_device(built + "lwip.so")), "urgent");
}

TEST(LoadDevice, AFileThatIsNoLibrary) {
  const std::string path = testing::TempDir() + "no_library.so";
  std::ofstream(path) << "text";
  EXPECT_THAT(failure_of(path), HasSubstr(path + ": it cannot be loaded"));
}

TEST(LoadDevice, ALibraryThatIsNoDevice) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&std::getenv), &info), 0);
  EXPECT_THAT(failure_of(info.dli_fname),
              HasSubstr("does not export lockstep_device_entry(): see conformance/devices"));
}

TEST(LoadDevice, FindsItByNameInANamedFolder) {
  ASSERT_EQ(setenv("LOCKSTEP_DEVICES", ("/nonexistent:" + built).c_str(), 1), 0);
  EXPECT_EQ(device_path("lockstep").filename(), "lockstep.so");
  const auto found = found_devices();
  EXPECT_TRUE(
      std::ranges::any_of(found, [](const auto& path) { return path.stem() == "lockstep"; }));
  try {
    device_path("lockstop");
    FAIL();
  } catch (const tools::Failure& failure) {
    EXPECT_THAT(
        failure.what(),
        HasSubstr(
            "device lockstop: there is none of this name (did you mean 'lockstep'?); choose"));
    EXPECT_THAT(failure.what(), HasSubstr("lockstep"));
  }
  EXPECT_THROW(device_path("./lockstop.so"), tools::Failure);
  unsetenv("LOCKSTEP_DEVICES");
}

}  // namespace
}  // namespace lockstep::conformance
