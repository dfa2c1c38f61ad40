// Scripts that pass, with packets that violate a rule of the referee.
#include "conformance/script/witness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/script/report.hpp"
#include "conformance/script/script_kit.hpp"

namespace lockstep::conformance::script {
namespace {

using testing::HasSubstr;

/// Increases the acknowledgment number by 65,536 and corrects the checksum.
void ack_more(std::span<std::byte> ours) {
  std::size_t const tcp = (ours[0] >> 4) == std::byte{6} ? 40 : 20;
  std::size_t const next = tcp == 40 ? 6 : 9;
  if (ours[next] != std::byte{6} || (ours[tcp + 13] & std::byte{0x10}) == std::byte{}) {
    return;
  }
  const auto word = [&](std::size_t at) {
    return std::to_integer<std::uint32_t>(ours[at]) << 8 |
           std::to_integer<std::uint32_t>(ours[at + 1]);
  };
  const auto put = [&](std::size_t at, std::uint32_t value) {
    ours[at] = std::byte(value >> 8 & 0xff);
    ours[at + 1] = std::byte(value & 0xff);
  };
  std::uint32_t const before = word(tcp + 8);
  put(tcp + 8, before + 1);
  std::uint32_t sum = (~word(tcp + 16) & 0xffff) + (~before & 0xffff) + word(tcp + 8);
  sum = (sum & 0xffff) + (sum >> 16);
  put(tcp + 16, ~((sum & 0xffff) + (sum >> 16)));
}

TEST(Witness, JudgesSentPackets) {
  // The script passes; the altered copy that the referee sees violates a rule.
  const std::string text = open_passively +
                           "+0 write(4, ..., 10) = 10\n"
                           "+0 > P. 1:11(10) ack 1\n";
  Overrides acks_more;
  acks_more.before_referee = [](std::span<std::byte> ours) {
    if (ours.size() > 44) {  // a segment with data, not the SYN
      ack_more(ours);
    }
  };
  Ran const ran = run_text(text, acks_more);
  EXPECT_EQ(ran.verdict, Verdict::failed);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.finding.place.line, 10);
  EXPECT_THAT(ran.finding.what, HasSubstr("packet 4, sent at 0.100, breaks 9293:P-ACK-CUMUL: an "
                                          "ACK of data that never arrived (heard "));
  EXPECT_THAT(finding_text(ran), HasSubstr("! ack-of-unheard"));
  EXPECT_FALSE(ran.capture.empty());
  Report report;
  report.scripts.push_back(ran);
  for (std::string const& output :
       {table_text(report, true, 0), tap_text(report), junit_text(report), json_text(report)}) {
    EXPECT_THAT(output, HasSubstr("breaks 9293:P-ACK-CUMUL")) << output;
  }
  acks_more.referee = false;
  EXPECT_EQ(run_text(text, acks_more).verdict, Verdict::passed);

  Overrides unreadable;
  unreadable.before_referee = [](std::span<std::byte> ours) { ours.back() ^= std::byte{1}; };
  EXPECT_THAT(run_text(text, unreadable).finding.what,
              HasSubstr("packet 2, sent at 0.0, breaks 9293:MUST-2"));
}

TEST(Witness, DoesNotJudgeThePeer) {
  const std::string text = open_passively +
                           "+0 < P. 1:11(10) ack 1 win 65535\n"
                           "+0 read(4, ..., 10) = 10\n"
                           "* > . 1:1(0) ack 11\n"
                           "+0 < P. 11:21(10) ack 90000 win 65535\n"
                           "+0 > . 1:1(0) ack 11\n";
  Ran const ran = run_text(text);
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
}

// With acknowledgments of data that was never sent, the referee fails nearly every script here.
TEST(Witness, JudgesTheScriptsOfThisFolder) {
  Batch batch;
  batch.overrides.before_referee = ack_more;
  auto const files = find_scripts({"conformance/script"});
  Report const report = run_all(files, batch);
  std::size_t broken = 0;
  for (Ran const& ran : report.scripts) {
    broken += ran.finding.what.find(" breaks ") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(report.count(Verdict::failed), broken);
  EXPECT_GE(broken * 10, files.size() * 9) << broken << " of " << files.size();
}

}  // namespace
}  // namespace lockstep::conformance::script
