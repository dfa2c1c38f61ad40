// Lines of the access log, hostile requests, a full disk, and a file that is opened anew.
#include "tools/verbs/serve/access_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "tools/base/process/failure.hpp"
#include "tools/base/process/wait_kit.hpp"
#include "tools/verbs/serve/disk_kit.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t begin_2026 = 1'767'225'600'000'000'000;

/// The line for a request and an answer.
std::string line_for(std::string_view request, AccessFormat format = AccessFormat::combined,
                     http::Status status = http::Status::ok, std::uint64_t octets = 5) {
  http::RequestReader reader;
  Bytes used;
  static_cast<void>(reader.read(std::as_bytes(std::span(request)), {}, used));
  return access_line({IpAddress::v4(10, 0, 0, 9), reader, status, octets, {}, {}, {}}, format,
                     begin_2026);
}

TEST(AccessLine, CommonAndCombined) {
  std::string const request =
      "GET /a?b=c HTTP/1.1\r\nHost: x\r\nReferer: http://r/\r\nUser-Agent: curl/7\r\n\r\n";
  EXPECT_EQ(line_for(request, AccessFormat::common),
            "10.0.0.9 - - [01/Jan/2026:00:00:00 +0000] \"GET /a?b=c HTTP/1.1\" 200 5\n");
  EXPECT_EQ(line_for(request),
            "10.0.0.9 - - [01/Jan/2026:00:00:00 +0000] \"GET /a?b=c HTTP/1.1\" 200 5 "
            "\"http://r/\" \"curl/7\"\n");
  EXPECT_THAT(line_for("HEAD / HTTP/1.0\r\n\r\n", AccessFormat::combined, http::Status::ok, 0),
              HasSubstr("\"HEAD / HTTP/1.0\" 200 - \"-\" \"-\"\n"));
}

TEST(AccessLine, HostileOctetsAreEscaped) {
  EXPECT_THAT(line_for("\x16\x03\x01\xff\"\\\r\n", AccessFormat::common, http::Status::bad_request),
              HasSubstr("] \"\\x16\\x03\\x01\\xff\\\"\\\\\" 400 5\n"));
  EXPECT_THAT(line_for("GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: a\" 200 9 \"\xc3\xa9\r\n\r\n"),
              HasSubstr("\"a\\\" 200 9 \\\"\\xc3\\xa9\"\n"));
  EXPECT_THAT(line_for("GET /\"\\ HTTP/1.1\r\nHost: x\r\n\r\n"),
              HasSubstr("\"GET /\\\"\\\\ HTTP/1.1\""));
  std::string const no_line = line_for(std::string(5000, '\x7f'));
  EXPECT_LT(no_line.size(), 600u);
  EXPECT_EQ(std::count(no_line.begin(), no_line.end(), '\n'), 1);
  EXPECT_THAT(line_for(""), HasSubstr("\"-\" 200"));
}

TEST(AccessLine, LongValuesAreCutOff) {
  std::string const line =
      line_for("GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: " + std::string(1000, 'u') + "\r\n\r\n");
  EXPECT_THAT(line, HasSubstr("\"" + std::string(160, 'u') + "\"\n"));
}

class Log : public testing::Test {
 protected:
  ~Log() override {
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".1");
  }
  static std::string content(const std::string& of) {
    std::ostringstream out;
    out << std::ifstream(of).rdbuf();
    return out.str();
  }
  std::string path = (std::filesystem::temp_directory_path() /
                      ("lockstep-access-" + std::to_string(getpid()) + ".log"))
                         .string();
};

TEST_F(Log, LinesOfAllShardsArriveWhole) {
  std::ofstream(path) << "before\n";
  {
    AccessLog log(path, AccessFormat::common, {2});
    log.put({0}, "zero\n");
    log.put({1}, "one\n");
    log.finish();
    EXPECT_EQ(log.lines(), 2u);
    EXPECT_EQ(log.lost(), 0u);
    EXPECT_EQ(log.lost_to(), 0);
  }
  std::string const text = content(path);
  EXPECT_TRUE(text == "before\nzero\none\n" || text == "before\none\nzero\n") << text;
}

TEST_F(Log, AFileThatWasMovedIsLeft) {
  {
    AccessLog log(path, AccessFormat::common, {1});
    std::filesystem::rename(path, path + ".1");
    log.reopen();
    log.put({0}, "after\n");
  }
  EXPECT_EQ(content(path), "after\n");
  EXPECT_EQ(content(path + ".1"), "");
}

TEST_F(Log, AFullDiskIsSaidOnceAndLinesWaitOrAreCounted) {
  testing::internal::CaptureStderr();
  std::string const line(1023, 'x');
  {
    AccessLog log("/dev/full", AccessFormat::common, {1});
    std::size_t const put = 2 * AccessLog::buffer_octets / line.size();
    for (std::size_t i = 0; i < put; ++i) {
      log.put({0}, line + "\n");
    }
    EXPECT_GT(log.lost(), 0u);
    EXPECT_LT(log.lost(), put - 1000);
    log.finish();
    EXPECT_EQ(log.lines(), 0u);
    EXPECT_EQ(log.lost(), put);
    EXPECT_EQ(log.lost_to(), ENOSPC);
  }
  std::string const said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("/dev/full: No space left on device"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(Log, AFullDiskThatCostNoLineIsForgotten) {
  testing::internal::CaptureStderr();
  {
    auto full = std::make_unique<FullDisk>();
    AccessLog log(path, AccessFormat::common, {1});
    log.put({0}, "one\n");
    ASSERT_TRUE(happens([&] { return log.error() != 0; }));
    EXPECT_EQ(log.error(), EFBIG);
    full.reset();
    ASSERT_TRUE(happens([&] { return log.lines() == 1; }));
    log.finish();
    EXPECT_EQ(log.error(), 0);
    EXPECT_EQ(log.lost(), 0u);
    EXPECT_EQ(log.lost_to(), 0);
  }
  EXPECT_EQ(content(path), "one\n");
  testing::internal::GetCapturedStderr();  // a file too, which may not grow either
}

TEST(LostLines, SayWhatTheyWereLostTo) {
  EXPECT_EQ(lost_lines_text("a.log", 1'000, ENOSPC),
            "--access-log a.log: No space left on device: 1,000 lines were lost; free space on the "
            "disk");
  EXPECT_EQ(lost_lines_text("a.log", 7, 0),
            "--access-log a.log: 7 lines were lost: they came faster than they could be written; "
            "choose a faster disk");
}

TEST_F(Log, AFileThatCannotBeOpenedIsRefused) {
  EXPECT_THROW(AccessLog("/nowhere/access.log", AccessFormat::common, {1}), Failure);
}

}  // namespace
}  // namespace lockstep::tools
