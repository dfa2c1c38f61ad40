// Captures of a running program: rotation, bounds, comments, and a disk that fails.
#include "tools/verbs/serve/capture.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tools/base/process/failure.hpp"
#include "tools/base/process/wait_kit.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/serve/disk_kit.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;

class Captures : public testing::Test {
 protected:
  Captures() { std::filesystem::create_directory(folder); }
  ~Captures() override { std::filesystem::remove_all(folder); }

  static std::string content(const std::string& of) {
    std::ostringstream out;
    out << std::ifstream(of).rdbuf();
    return out.str();
  }
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (auto const& each : std::filesystem::directory_iterator(folder)) {
      out.insert(each.path().filename().string());
    }
    return out;
  }
  /// What can be read, up to the end.
  static std::string all_of(const hw::Descriptor& from) {
    std::string out;
    std::array<char, 65'536> buffer{};
    for (ssize_t got = 0; (got = read(from.number(), buffer.data(), buffer.size())) > 0;) {
      out.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return out;
  }
  static std::vector<std::byte> frame(std::size_t octets, char with = 'f') {
    return std::vector<std::byte>(octets, static_cast<std::byte>(with));
  }

  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lockstep-captures-" + std::to_string(getpid()));
  CaptureSettings settings{.path = (folder / "run.pcapng").string()};
  CapturedInterface lock0{"lock0", {1}};
};

TEST_F(Captures, FramesHaveTimesDirectionsAndComments) {
  {
    Capture capture(settings, lock0, 1'000'000'000);
    capture.put({0}, {Instant{5}, false, false, "dropped: tcp_checksum"}, frame(60));
    capture.put({0}, {Instant{6}, true, false, {}}, frame(61));
    capture.finish();
    EXPECT_EQ(capture.frames(), 2u);
    EXPECT_EQ(capture.lost(), 0u);
    EXPECT_EQ(capture.lost_text(), "");
  }
  std::string const text = content((folder / "run-00001.pcapng").string());
  EXPECT_THAT(text, HasSubstr("lock0"));
  EXPECT_THAT(text, HasSubstr("dropped: tcp_checksum"));
  EXPECT_THAT(text, HasSubstr(std::string(61, 'f')));
  EXPECT_EQ(text.size() % 4, 0u);
}

TEST_F(Captures, TheOldestFilesAreRemoved) {
  settings.file_octets = 65'536;
  settings.files = 3;
  {
    Capture capture(settings, lock0, 0);
    for (int i = 0; i < 500; ++i) {
      capture.put({0}, {}, frame(1000));
    }
    capture.finish();
    EXPECT_EQ(capture.frames(), 500u);
  }
  // 63 frames fill a file.
  EXPECT_EQ(names(),
            (std::set<std::string>{"run-00006.pcapng", "run-00007.pcapng", "run-00008.pcapng"}));
  for (const std::string& each : names()) {
    EXPECT_LT(std::filesystem::file_size(folder / each), 70'000u);
    EXPECT_THAT(content((folder / each).string()), HasSubstr("lock0"));
  }
}

TEST_F(Captures, FramesOfAnotherRunAreKept) {
  std::ofstream(folder / "run-00001.pcapng") << "mine";
  EXPECT_THROW(Capture(settings, lock0, 0), Failure);
  EXPECT_EQ(content((folder / "run-00001.pcapng").string()), "mine");
  settings.force = true;
  Capture(settings, lock0, 0).finish();
  EXPECT_THAT(content((folder / "run-00001.pcapng").string()), HasSubstr("lock0"));
  settings.path = (folder / "no" / "where").string();
  EXPECT_THROW(Capture(settings, lock0, 0), Failure);
}

TEST_F(Captures, WhatAFullBufferLeavesOutIsCountedAndSaid) {
  testing::internal::CaptureStderr();
  std::string const name = (folder / "run-00001.pcapng").string();
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  hw::Descriptor const disk(open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_EQ(fcntl(disk.number(), F_SETFL, 0), 0);
  settings.force = true;
  std::uint64_t lost = 0;
  std::uint64_t tries = 0;
  std::string text;
  std::thread reader;
  {
    Capture capture(settings, lock0, 0);
    // Nobody reads: the pipe takes no more, the thread waits for it, the buffer fills.
    auto const large = frame(60'000);
    for (; capture.lost() == 0 && tries < 1'000; ++tries) {
      capture.put({0}, {}, large);
    }
    EXPECT_NE(capture.lost(), 0u);
    reader = std::thread([&] { text = all_of(disk); });
    // Until one fits again.
    EXPECT_TRUE(happens([&] {
      lost = capture.lost();
      capture.put({0}, {}, frame(60));
      ++tries;
      return capture.lost() == lost;
    }));
    capture.finish();
    EXPECT_EQ(capture.frames() + capture.lost(), tries);
    EXPECT_EQ(capture.lost_text(),
              "--pcapng " + settings.path + ": " + grouped(capture.lost()) +
                  " frames are not in the capture: they came faster than they could be written; "
                  "choose a faster disk");
  }
  reader.join();
  EXPECT_THAT(text, HasSubstr(grouped(lost) + " frames before this one are not in"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("frames come faster"));
}

TEST_F(Captures, ADiskThatFailsIsSaidOnce) {
  testing::internal::CaptureStderr();
  std::filesystem::create_symlink("/dev/full", folder / "run-00001.pcapng");
  settings.force = true;
  {
    Capture capture(settings, lock0, 0);
    for (int i = 0; i < 100; ++i) {
      capture.put({0}, {}, frame(60));
    }
    capture.finish();
    EXPECT_EQ(capture.frames(), 0u);
    EXPECT_EQ(capture.lost(), 100u);
  }
  std::string const said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("No space left on device"));
  EXPECT_THAT(said, HasSubstr("tries again every 10 s"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

/// The sum of the numbers that comments give.
std::uint64_t missing_in(const std::string& text) {
  constexpr std::string_view words = " frames before this one are not in this capture";
  std::uint64_t sum = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    std::size_t const before = text.find_last_not_of("0123456789", at - 1);
    sum += std::stoull(text.substr(before + 1, at - before - 1));
  }
  return sum;
}

/// Puts a frame, and waits until it is written or left out. Ends the test if neither happens.
void put_and_wait(Capture& capture, ShardId shard) {
  std::uint64_t const wanted = capture.frames() + capture.lost() + 1;
  std::vector<std::byte> const frame(60);
  capture.put(shard, {}, frame);
  ASSERT_TRUE(happens([&] { return capture.frames() + capture.lost() == wanted; }));
}

TEST_F(Captures, AFullDiskRemovesNoFilesAndTheLastOneGoesOn) {
  testing::internal::CaptureStderr();
  settings.file_octets = 65'536;
  settings.files = 2;
  settings.rest = 1;
  std::uint64_t lost = 0;
  {
    Capture capture(settings, lock0, 0);
    for (int i = 0; i < 100; ++i) {
      capture.put({0}, {}, frame(1000));
    }
    ASSERT_TRUE(happens([&] { return capture.frames() == 100; }));
    {
      FullDisk const full;
      for (int i = 0; i < 5; ++i) {
        put_and_wait(capture, {0});
      }
    }
    EXPECT_EQ(capture.lost(), 5u);
    ASSERT_TRUE(happens([&] {
      put_and_wait(capture, {0});
      return capture.frames() != 100;
    }));
    lost = capture.lost();
  }
  EXPECT_EQ(names(), (std::set<std::string>{"run-00001.pcapng", "run-00002.pcapng"}));
  std::string const text = content((folder / "run-00002.pcapng").string());
  EXPECT_EQ(missing_in(text), lost);
  EXPECT_EQ(text.size() % 4, 0u);
  testing::internal::GetCapturedStderr();
}

TEST_F(Captures, AFileThatCouldNotBeBegunHasItsHeaderLater) {
  testing::internal::CaptureStderr();
  settings.rest = 1;
  {
    auto full = std::make_unique<FullDisk>();
    Capture capture(settings, lock0, 0);
    put_and_wait(capture, {0});
    full.reset();
    ASSERT_TRUE(happens([&] {
      put_and_wait(capture, {0});
      return capture.frames() != 0;
    }));
  }
  std::string const text = content((folder / "run-00001.pcapng").string());
  EXPECT_THAT(text, HasSubstr("lock0"));
  EXPECT_EQ(names(), (std::set<std::string>{"run-00001.pcapng"}));
  testing::internal::GetCapturedStderr();
}

TEST_F(Captures, EachShardCountsItsOwnFrames) {
  testing::internal::CaptureStderr();
  settings.rest = 1;
  lock0.shards = {2};
  std::uint64_t lost = 0;
  {
    Capture capture(settings, lock0, 0);
    put_and_wait(capture, {1});
    {
      FullDisk const full;
      put_and_wait(capture, {0});
    }
    ASSERT_TRUE(happens([&] {
      lost = capture.lost();
      put_and_wait(capture, {0});
      return capture.frames() != 1;
    }));
    put_and_wait(capture, {1});
    EXPECT_EQ(capture.frames(), 3u);
  }
  std::string const text = content((folder / "run-00001.pcapng").string());
  std::string const said = grouped(lost) + " frames before this one are not in this capture";
  ASSERT_THAT(text, HasSubstr(said));
  EXPECT_EQ(text.find("frames before", text.find(said) + said.size()), std::string::npos);
  testing::internal::GetCapturedStderr();
}

TEST_F(Captures, DropsAreNamed) {
  DropCounters before;
  DropCounters now;
  EXPECT_EQ(drops_text(before, now), "");
  now.count(Drop::tcp_checksum);
  EXPECT_EQ(drops_text(before, now), "tcp_checksum");
  now.count(Drop::tcp_checksum);
  now.count(Drop::ip_checksum);
  EXPECT_EQ(drops_text(before, now), "1 ip_checksum, 2 tcp_checksum");
}

TEST_F(Captures, Names) {
  EXPECT_EQ(capture_name("a/run.pcapng", 7), "a/run-00007.pcapng");
  EXPECT_EQ(capture_name("run", 123'456), "run-123456.pcapng");
  EXPECT_EQ(capture_name("a.b/run", 1), "a.b/run-00001.pcapng");
  EXPECT_EQ(capture_number("a/run-00007.pcapng"), 7u);
  EXPECT_EQ(capture_number("123456.pcapng"), 123'456u);
  EXPECT_EQ(capture_number("run-99999999999.pcapng"), 0u);
  EXPECT_EQ(capture_number("run-.pcapng"), 0u);
  EXPECT_EQ(capture_number("run-00007"), 0u);
}

}  // namespace
}  // namespace lockstep::tools
