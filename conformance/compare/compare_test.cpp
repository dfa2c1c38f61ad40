// The finder: inputs from seeds, the oracle on a device that breaks rules, shrinking, scripts.
#include "conformance/compare/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "conformance/compare/play.hpp"
#include "conformance/compare/shrink.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::compare {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path devices = LOCKSTEP_BINARY_DIR "/devices";
const fs::path ours = devices / "lockstep.so";

CompareOptions options_of(std::vector<fs::path> paths, std::uint64_t seeds) {
  CompareOptions out;
  out.devices = std::move(paths);
  out.ours = ours;
  out.seeds = seeds;
  out.goes_on = [](std::uint64_t) { return true; };
  out.shrinks = [](const std::string&) {};
  return out;
}

Step segment(wire::Flags flags, std::uint32_t seq, std::uint32_t ack, std::uint16_t octets = 0) {
  Step out;
  out.act = Act::segment;
  out.after_ms = 10;
  out.piece.flags = flags;
  out.piece.seq = seq;
  out.piece.ack = ack;
  out.piece.octets = octets;
  return out;
}

Input opened(std::vector<Step> more) {
  Input out;
  out.steps = {segment(wire::flag::syn, 0, 0), segment(wire::flag::ack, 1, 1)};
  out.steps.insert(out.steps.end(), more.begin(), more.end());
  return out;
}

Step call(Act act, std::uint32_t octets = 0) { return {act, 10, octets, {}}; }

/// Our own stack with one thing changed on the way to the oracle.
class AlteredHost final : public Host {
 public:
  using Alter = std::function<void(lockstep_device_call, DeviceAnswer&)>;
  explicit AlteredHost(Alter alter) : host_(open_host(ours)), alter_(std::move(alter)) {}

  DeviceAnswer ask(lockstep_device_call which, std::uint64_t first, std::uint64_t second,
                   std::string_view octets) override {
    DeviceAnswer out = host_->ask(which, first, second, octets);
    alter_(which, out);
    return out;
  }
  std::uint64_t grain_ns() const override { return host_->grain_ns(); }
  bool is_renewable() const override { return true; }
  std::string_view name() const override { return "altered"; }

 private:
  std::unique_ptr<Host> host_;
  Alter alter_;
};

/// The rules that are broken when packets for which `lost` is true never leave.
std::set<std::string_view> broken_without(
    const Input& input, const std::function<bool(std::span<const std::byte>)>& lost) {
  AlteredHost host([&](lockstep_device_call, DeviceAnswer& answer) {
    std::erase_if(answer.packets, [&](const auto& packet) { return lost(packet); });
  });
  std::set<std::string_view> out;
  for (auto const& [rule, line] : play(host, input, true).details) {
    out.insert(name_of_rule(rule));
  }
  return out;
}

unsigned flags_of(std::span<const std::byte> packet) {
  return std::to_integer<unsigned>(packet[33]);
}
bool is_reset(std::span<const std::byte> packet) { return (flags_of(packet) & 4) != 0; }
bool is_ack_alone(std::span<const std::byte> packet) {
  return flags_of(packet) == 0x10 && packet.size() == 40;
}
bool has_data(std::span<const std::byte> packet) {
  return flags_of(packet) >= 0x10 && (flags_of(packet) & 7) == 0 && packet.size() > 60;
}
bool never(std::span<const std::byte>) { return false; }

TEST(CompareInputs, AreTheSameForASeedAndDifferForOthers) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    EXPECT_EQ(draw_input(seed), draw_input(seed));
    seen.insert(text_of(draw_input(seed)));
  }
  EXPECT_GT(seen.size(), 450U);
}

TEST(CompareOracle, FindsNothingInOurs) {
  CompareResult const result = compare_devices(options_of({ours}, 10'000));
  ASSERT_EQ(result.devices.size(), 1U);
  EXPECT_EQ(result.devices[0].inputs, 10'000U);
  for (CompareFinding const& finding : result.findings) {
    ADD_FAILURE() << name_of_rule(finding.rule) << " " << finding.line << "\n"
                  << text_of(finding.smallest);
  }
}

TEST(CompareOracle, MissesTheAnswersThatMustCome) {
  Input closed;
  closed.opening = Opening::closed;
  closed.steps = {segment(wire::flag::ack, 5, 7)};
  EXPECT_TRUE(broken_without(closed, never).empty());
  EXPECT_TRUE(broken_without(closed, is_reset).contains("closed-reset-missing"));

  Input listens;
  listens.steps = {segment(wire::flag::ack, 5, 7)};
  EXPECT_TRUE(broken_without(listens, never).empty());
  EXPECT_TRUE(broken_without(listens, is_reset).contains("listen-reset-missing"));

  Input const outside = opened({segment(wire::flag::ack, 200'000, 1, 4)});
  EXPECT_TRUE(broken_without(outside, never).empty());
  EXPECT_TRUE(broken_without(outside, is_ack_alone).contains("unacceptable-unanswered"));

  Input const unsent = opened({segment(wire::flag::ack, 1, 1'000)});
  EXPECT_TRUE(broken_without(unsent, is_ack_alone).contains("unsent-ack-unanswered"));

  Input const syn = opened({segment(wire::flag::syn, 100, 0)});
  EXPECT_TRUE(broken_without(syn, is_ack_alone).contains("syn-inside-unanswered"));

  Input const data = opened({segment(wire::flag::ack, 1, 1, 4)});
  EXPECT_TRUE(broken_without(data, never).empty());
  EXPECT_TRUE(broken_without(data, is_ack_alone).contains("data-unacknowledged"));

  Input const fin = opened({segment(wire::flag::ack | wire::flag::fin, 1, 1)});
  EXPECT_TRUE(broken_without(fin, is_ack_alone).contains("fin-unacknowledged"));
}

TEST(CompareOracle, MissesARetransmission) {
  std::uint32_t left = 0;
  Input const input = opened({call(Act::send, 100)});
  EXPECT_TRUE(broken_without(input, never).empty());
  auto const broken = broken_without(
      input, [&](std::span<const std::byte> packet) { return has_data(packet) && ++left > 1; });
  EXPECT_TRUE(broken.contains("never-retransmitted"));
}

TEST(CompareOracle, ComparesWhatTheProgramReads) {
  Input const input = opened({segment(wire::flag::ack, 1, 1, 4), call(Act::receive, 100)});
  const auto broken = [&](const auto& change) {
    AlteredHost host([&](lockstep_device_call which, DeviceAnswer& answer) {
      if (which == LOCKSTEP_CALL_RECEIVE && answer.result > 0) {
        change(answer);
      }
    });
    RuleSet const seen = play(host, input, true).broken;
    return seen;
  };
  EXPECT_TRUE(broken([](DeviceAnswer&) {}).none());
  EXPECT_TRUE(broken([](DeviceAnswer& answer) {
                answer.octets[2] ^= 1;
              }).test(index_of(CompareRule::delivers_wrong_octets)));
  EXPECT_TRUE(broken([](DeviceAnswer& answer) {
                answer.octets += "x";
                ++answer.result;
              }).test(index_of(CompareRule::delivers_too_much)));
  EXPECT_TRUE(broken([](DeviceAnswer& answer) {
                answer.octets.clear();
                answer.result = 0;
              }).test(index_of(CompareRule::ends_too_early)));
  EXPECT_TRUE(broken([](DeviceAnswer& answer) {
                answer.octets.resize(1);
                answer.result = 1;
              }).test(index_of(CompareRule::acknowledged_lost)));
}

TEST(CompareShrink, KeepsWhatTheFailureNeeds) {
  Input const big = draw_input(206);
  std::uint32_t tries = 0;
  const auto fails = [&](const Input& input) {
    ++tries;
    return std::ranges::any_of(input.steps, [](const Step& step) {
      return step.act == Act::segment && step.piece.flags.syn();
    });
  };
  ASSERT_TRUE(fails(big));
  Input const small = shrink_input(big, fails, 800);
  ASSERT_EQ(small.steps.size(), 1U);
  EXPECT_EQ(small.steps[0].piece.flags, wire::flag::syn);
  EXPECT_EQ(small.steps[0].after_ms, 0U);
  EXPECT_LE(tries, 801U);
}

TEST(CompareContained, NamesTheDeviceAndTheCall) {
  ContainedDevice const rude(LOCKSTEP_BINARY_DIR "/rude/rude.so", std::chrono::milliseconds(200));
  std::size_t const broken = index_of(CompareRule::device_broken);
  Input input;
  input.opening = Opening::closed;
  EXPECT_EQ(rude.play_one(input, broken).line,
            "device rude: advance: its deadline is over after 1000 calls of advance() at one "
            "instant");
  input.opening = Opening::listens;
  EXPECT_EQ(rude.play_one(input, broken).line,
            "device rude: listen: it has ended by SIGABRT: it does not like ports");
  input.opening = Opening::connects;
  EXPECT_EQ(rude.play_one(input, broken).line,
            "device rude: connect: it has not answered in 0.2 s");
  // After each of them the next input is played.
  Batch const batch = rude.play(5, [&](std::uint32_t i) {
    Input one;
    one.opening = i == 3 ? Opening::connects : i % 2 == 0 ? Opening::closed : Opening::listens;
    return one;
  });
  ASSERT_EQ(batch.seen.size(), 5U);
  for (Seen const& seen : batch.seen) {
    EXPECT_TRUE(seen.broken.test(broken));
  }
}

TEST(CompareContained, RefusesAProgramThatEndsAtOnce) {
  fs::path const folder = fs::path(testing::TempDir()) / "compare" / "ends";
  fs::create_directories(folder);
  std::ofstream(folder / "device") << "#!/bin/sh\nexit 3\n";
  fs::permissions(folder / "device", fs::perms::owner_all);
  try {
    compare_devices(options_of({folder / "device"}, 1));
    FAIL();
  } catch (const tools::Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("device ends: about: it has ended with exit code 3"));
  }
}

TEST(CompareFindings, AKnownDefectOfAnotherStackGetsAScript) {
  // Data without ACK, lwip-2.1.3.md number 1; a SYN that draws no answer, smoltcp-0.14.md number 4.
  for (auto const& [name, rule] : {std::pair{"lwip", CompareRule::no_ack_accepted},
                                   {"smoltcp", CompareRule::syn_inside_unanswered}}) {
    fs::path const device = devices / (std::string(name) + ".so");
    if (!fs::exists(device)) {
      continue;  // not built here
    }
    CompareResult const result = compare_devices(options_of({device}, 500));
    auto const found = std::ranges::find(result.findings, index_of(rule), &CompareFinding::rule);
    ASSERT_NE(found, result.findings.end()) << name;
    EXPECT_THAT(found->script, HasSubstr("--profile=rfc")) << name << found->why_no_script;
    EXPECT_LE(std::ranges::count(found->script, '\n'), std::ptrdiff_t{script_lines_most});
    EXPECT_FALSE(found->capture.empty());
  }
}

}  // namespace
}  // namespace lockstep::conformance::compare
