// Tests of the verb: what it reads, rejects and writes, and the project's own captures.
#include "tools/verbs/lint/lint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "conformance/replay/export.hpp"
#include "conformance/replay/report.hpp"
#include "sim/kernel/pcapng.hpp"
#include "tools/base/capture/octets.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/lint/report.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

using sim::referee::Rule;
using ::testing::HasSubstr;

std::string temporary(const std::string& name) { return ::testing::TempDir() + "lint_" + name; }

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string pcaps() { return std::string(LOCKSTEP_SOURCE_DIR) + "/pcaps/"; }

Linted lint_file(const std::string& path) {
  LintOptions options;
  options.capture = path;
  return lint(options);
}

/// The rules with certain findings in a capture.
std::set<std::string> certain_in(const std::string& path) {
  std::set<std::string> out;
  for (const sim::referee::Violation& violation : lint_file(path).violations) {
    if (violation.certainty() == sim::referee::Certainty::certain) {
      out.insert(std::string(sim::referee::text_of(violation.rule).name));
    }
  }
  return out;
}

/// One segment of a raw IPv4 capture, with right checksums by default.
struct Packet {
  bool from_first = true;
  std::uint8_t flags = tcp_flag::ack;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgment = 0;
  std::uint16_t window = 1'000;
  std::size_t text = 0;
  enum class Sums { good, partial, bad } sums = Sums::good;
  std::uint8_t header_words = 5;  // the data offset field
};

std::vector<std::byte> bytes_of(const Packet& packet) {
  std::vector<std::byte> out(40 + packet.text, std::byte{7});
  std::uint32_t const first = 0x0a000001, second = 0x0a000002;
  out[0] = std::byte{0x45};
  out[1] = std::byte{0};
  set_word(out, 2, static_cast<std::uint16_t>(out.size()));
  for (std::size_t const at : {4u, 6u, 10u, 36u, 38u}) {
    set_word(out, at, 0);
  }
  out[8] = std::byte{64};
  out[9] = std::byte{6};
  auto const put = [&out](std::size_t at, std::uint32_t value) {
    set_word(out, at, static_cast<std::uint16_t>(value >> 16));
    set_word(out, at + 2, static_cast<std::uint16_t>(value & 0xffff));
  };
  put(12, packet.from_first ? first : second);
  put(16, packet.from_first ? second : first);
  set_word(out, 20, packet.from_first ? 1'000 : 80);
  set_word(out, 22, packet.from_first ? 80 : 1'000);
  put(24, packet.sequence);
  put(28, packet.acknowledgment);
  out[32] = static_cast<std::byte>(packet.header_words << 4);
  out[33] = std::byte{packet.flags};
  set_word(out, 34, packet.window);
  auto const ip = std::span<const std::byte>(out);
  set_word(out, 10, static_cast<std::uint16_t>(~ones_fold(ones_sum(ip.first(20)))));
  auto const length = static_cast<std::uint32_t>(out.size() - 20);
  std::uint32_t const pseudo = ones_sum(ip.subspan(12, 8), 6 + length);
  auto const sum = static_cast<std::uint16_t>(~ones_fold(ones_sum(ip.subspan(20), pseudo)));
  bool const partial = packet.sums == Packet::Sums::partial;
  set_word(out, 36, partial ? ones_fold(pseudo) : sum);
  if (packet.sums == Packet::Sums::bad) {
    out[37] ^= std::byte{1};
  }
  return out;
}

/// `others`: IP packets at the end of the capture.
std::string written(const std::string& name, const std::vector<Packet>& packets,
                    const std::vector<std::vector<std::byte>>& others = {}) {
  std::string const path = temporary(name);
  AtomicFile file(path);
  sim::PcapngWriter writer(file);
  writer.interface(sim::CaptureLink::raw_ip, "test");
  std::uint64_t at = 1'000'000'000;
  for (const Packet& packet : packets) {
    std::vector<std::byte> const bytes = bytes_of(packet);
    writer.packet({0, Instant{at += 1'000'000}, sim::CaptureWay::unknown, bytes, {}, 0});
  }
  for (const std::vector<std::byte>& bytes : others) {
    writer.packet({0, Instant{at += 1'000'000}, sim::CaptureWay::unknown, bytes, {}, 0});
  }
  file.keep();
  return path;
}

std::vector<Packet> handshake() {
  return {{true, tcp_flag::syn, 99, 0},
          {false, tcp_flag::syn | tcp_flag::ack, 499, 100},
          {true, tcp_flag::ack, 100, 500}};
}

/// Runs the verb as the program does and returns its exit code.
int run(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "lockstep");
  CLI::App app;
  int exit_code = 0;
  register_lint(app, exit_code);
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError&) {
    exit_code = 2;
  } catch (const Failure& failure) {
    exit_code = static_cast<int>(failure.code());
  }
  return exit_code;
}

TEST(Lint, FindsWhatIsBeyondTheWindow) {
  std::vector<Packet> packets = handshake();
  packets.push_back({true, tcp_flag::ack | tcp_flag::psh, 100, 500, 1'000, 400});
  packets.push_back({true, tcp_flag::ack | tcp_flag::psh, 500, 500, 1'000, 536});
  Linted const nearly = lint_file(written("nearly.pcapng", packets));
  EXPECT_EQ(nearly.certain(), 0u) << table_of(nearly, 0);
  packets.push_back({true, tcp_flag::ack | tcp_flag::psh, 1'036, 500, 1'000, 65});
  packets.push_back({false, tcp_flag::ack, 500, 500, 600});  // its window was no larger
  packets.push_back({false, tcp_flag::ack, 500, 600, 500});  // ... and no older ACK said so
  Linted const beyond = lint_file(written("beyond.pcapng", packets));
  ASSERT_EQ(beyond.certain(), 1u) << table_of(beyond, 0);
  EXPECT_THAT(table_of(beyond, 0), HasSubstr("beyond the window that the peer offered (edge 1100, "
                                             "end 1101)"));
}

// tcpdump may still write to the file. The second pass judges what the first one has seen.
TEST(Lint, ACaptureMayGrowBetweenThePasses) {
  std::vector<Packet> packets = handshake();
  packets.push_back({true, tcp_flag::ack | tcp_flag::psh, 100, 500, 1'000, 400});
  LintOptions options;
  options.capture = written("short.pcapng", packets);
  std::vector<std::byte> foreign = bytes_of(packets.front());
  foreign[15] = std::byte{9};
  packets.push_back({true, tcp_flag::ack | tcp_flag::psh, 500, 500, 1'000, 1'200});
  Linted const linted = lint(options, written("grown.pcapng", packets, {foreign}));
  EXPECT_EQ(linted.packets, 4u);
  EXPECT_EQ(linted.violations.size(), 0u) << table_of(linted, 0);
}

/// A fragment from 10.0.0.2 to 10.0.0.`last`, with the UDP header of VXLAN if it is the first.
std::vector<std::byte> fragment_of(unsigned protocol, bool first, unsigned last = 1) {
  std::vector<std::byte> out;
  for (unsigned word : {0x4500u, 52u, 9u, first ? 0x2000u : 4u, 0x4000u | protocol, 0u, 0x0a00u, 2u,
                        0x0a00u, last, 4789u, 4789u, 1'000u, 0u}) {
    put_word(out, word);
  }
  out.resize(52);
  out[28] = std::byte{8};  // the packet in VXLAN has a network
  return out;
}

TEST(Lint, TellsWhereTheFileIsTruncated) {
  std::string const whole = contents(written("whole.pcapng", handshake()));
  for (bool const cut : {false, true}) {
    std::string const path = temporary("cut.pcapng");
    std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() - (cut ? 9 : 0));
    Linted const linted = lint_file(path);
    EXPECT_EQ(linted.packets, cut ? 2u : 3u);
    EXPECT_THAT(linted.warning, HasSubstr(cut ? "packet 3: the file is truncated" : ""));
    EXPECT_EQ(linted.warning.empty(), !cut);
    EXPECT_EQ(json_of(linted, path).contains("warning"), cut);
  }
}

// Only what may be part of a TCP segment of the connection can explain a finding. --whole says that
// no packet is missing, but the octets in a fragment are hidden all the same.
TEST(Lint, FragmentsOfOtherPacketsExplainNothing) {
  struct Case {
    const char* name;
    std::vector<std::byte> fragment;
    bool explains;
  };
  const Case cases[] = {{"UDP, not the first", fragment_of(17, false), false},
                        {"ICMP", fragment_of(1, true), false},
                        {"TCP of another host", fragment_of(6, true, 3), false},
                        {"TCP", fragment_of(6, true), true},
                        {"TCP, not the first", fragment_of(6, false), true},
                        {"VXLAN of another host", fragment_of(17, true, 3), true},
                        {"GRE of another host", fragment_of(47, false, 3), true}};
  std::vector<Packet> packets = handshake();
  packets.push_back({true, tcp_flag::ack | tcp_flag::psh, 100, 500, 1'000, 1'001});
  packets.push_back({false, tcp_flag::ack, 500, 500, 600});
  for (const Case& each : cases) {
    for (bool const whole : {false, true}) {
      LintOptions options;
      options.capture = written("fragment.pcapng", packets, {each.fragment});
      options.whole = whole;
      Linted const linted = lint(options);
      EXPECT_EQ(linted.certain() == 0, each.explains)
          << each.name << (whole ? ", --whole" : "") << table_of(linted, 0);
    }
  }
}

TEST(Lint, LengthsOfAHeaderThatCannotBe) {
  struct Case {
    std::uint8_t words;
    std::size_t text;
    bool good;
  };
  // Less than a header, more than there is, and exactly what there is.
  for (auto const& [words, text, good] :
       {Case{4, 0, false}, Case{5, 0, true}, Case{6, 3, false}, Case{6, 4, true},
        Case{15, 40, true}, Case{15, 39, false}}) {
    std::vector<Packet> packets = handshake();
    Packet odd{true, tcp_flag::ack | tcp_flag::psh, 100, 500, 1'000, text};
    odd.header_words = words;
    packets.push_back(odd);
    Linted const linted = lint_file(written("header.pcapng", packets));
    auto const findings =
        std::count_if(linted.violations.begin(), linted.violations.end(),
                      [](auto const& violation) { return violation.rule == Rule::header_length; });
    EXPECT_EQ(findings, good ? 0 : 1) << int{words} << " words, " << text << " octets behind 20";
  }
}

TEST(Lint, ChecksumsThatHardwareFillsInAreNoFinding) {
  for (auto const sums : {Packet::Sums::partial, Packet::Sums::bad, Packet::Sums::good}) {
    std::vector<Packet> packets = handshake();
    packets.push_back({true, tcp_flag::ack | tcp_flag::psh, 100, 500, 1'000, 10, sums});
    packets.push_back({false, tcp_flag::ack, 500, 110});
    Linted const linted = lint_file(written("sums.pcapng", packets));
    bool const bad = sums == Packet::Sums::bad;
    EXPECT_EQ(
        std::count_if(linted.violations.begin(), linted.violations.end(),
                      [](auto const& violation) { return violation.rule == Rule::tcp_checksum; }),
        bad ? 1 : 0);
    EXPECT_EQ(linted.violations.empty(), !bad);
  }
}

// At a sender whose hardware fills in the checksums a merged capture has packets that were damaged
// before the second capture point. Where many sums are wrong, they are the hardware's.
TEST(Lint, AWrongSumAmongThoseOfHardwareMayShowDamage) {
  using enum Packet::Sums;
  for (auto const others : {partial, bad}) {
    std::vector<Packet> packets = handshake();
    for (std::uint32_t sent = 0; sent < 160; sent += 10) {
      packets.push_back({true, tcp_flag::ack, 100 + sent, 500, 1'000, 10, partial});
      packets.push_back({true, tcp_flag::ack, 100 + sent, 500, 1'000, 10, others});
      packets.push_back({false, tcp_flag::ack, 500, 110 + sent});
    }
    packets.push_back({true, tcp_flag::ack, 260, 500, 1'000, 1'001, bad});
    packets.push_back({false, tcp_flag::ack, 500, 1'000, 600});  // its window was no larger
    Linted const linted = lint_file(written("damaged.pcapng", packets));
    auto const at =
        std::ranges::find(linted.violations, Rule::beyond_window, &sim::referee::Violation::rule);
    ASSERT_NE(at, linted.violations.end());
    EXPECT_EQ(at->ambiguity == sim::referee::Ambiguity::damaged, others == partial);
  }
}

TEST(Lint, ACopyHasTheFindingsAsComments) {
  std::vector<Packet> packets = handshake();
  packets.push_back({true, tcp_flag::ack | tcp_flag::psh, 100, 500, 1'000, 1'001});
  packets.push_back({false, tcp_flag::ack, 500, 500, 600});  // its window was no larger
  std::string const path = written("in.pcapng", packets);
  std::string const copy = temporary("out.pcapng");
  EXPECT_EQ(run({"lint", path.c_str(), "--pcapng", copy.c_str()}), 1);
  EXPECT_THAT(contents(copy), HasSubstr("certain 9293:P-WND-FIT (beyond-window): data beyond"));
  // The packets are the same, so lint has the same findings in the copy.
  Linted const again = lint_file(copy);
  EXPECT_EQ(table_of(again, 0), table_of(lint_file(path), 0));
  EXPECT_EQ(again.packets, packets.size());
}

TEST(Lint, ACopyKeepsTheLinkTypeOfEachPacket) {
  std::string const path = temporary("links.pcapng");
  AtomicFile file(path);
  sim::PcapngWriter writer(file);
  writer.interface(sim::CaptureLink::ethernet, "eth0");
  writer.interface(sim::CaptureLink::raw_ip, "wg0");
  std::uint64_t at = 1'000'000'000;
  for (const Packet& packet : handshake()) {
    std::vector<std::byte> bytes = bytes_of(packet);
    if (packet.from_first) {
      bytes.insert(bytes.begin(), 14, std::byte{});
      set_word(bytes, 12, 0x0800);
    }
    std::uint32_t const interface = packet.from_first ? 0 : 1;
    writer.packet({interface, Instant{at += 1'000'000}, sim::CaptureWay::unknown, bytes, {}, 0});
  }
  file.keep();
  std::string const copy = temporary("links_out.pcapng");
  EXPECT_EQ(run({"lint", path.c_str(), "--pcapng", copy.c_str()}), 0);
  EXPECT_EQ(lint_file(path).segments, 3u);
  EXPECT_EQ(lint_file(copy).segments, 3u);
}

TEST(Lint, JsonHasWhatTheTableHas) {
  std::vector<Packet> packets = handshake();
  packets.push_back({true, tcp_flag::ack | tcp_flag::psh, 100, 500, 1'000, 1'001});
  packets.push_back({false, tcp_flag::ack, 500, 500, 600});  // its window was no larger
  std::string const path = written("json.pcapng", packets);
  nlohmann::ordered_json const json = json_of(lint_file(path), path);
  EXPECT_EQ(json["packets"], 5);
  EXPECT_EQ(json["certain"], 1);
  EXPECT_EQ(json["findings"].back()["rule"], "beyond-window");
  EXPECT_EQ(json["findings"].back()["packet"], 4);
  EXPECT_EQ(json["findings"].back()["numbers"]["end"], 1'101);
}

TEST(Lint, ExitCodes) {
  std::string const fine = written("fine.pcapng", handshake());
  EXPECT_EQ(run({"lint", fine.c_str()}), 0);
  EXPECT_EQ(run({"lint", fine.c_str(), "--strict"}), 0);
  std::vector<Packet> packets = handshake();
  packets.push_back({true, tcp_flag::ack, 100, 500, 1'000, 5});  // neither full nor pushed
  std::string const likely = written("likely.pcapng", packets);
  EXPECT_EQ(run({"lint", likely.c_str()}), 0);
  EXPECT_EQ(run({"lint", likely.c_str(), "--strict"}), 1);
  EXPECT_EQ(run({"lint", "/nowhere/at/all.pcapng"}), 2);
  EXPECT_EQ(run({"lint", LOCKSTEP_SOURCE_DIR "/README.md"}), 2);
  EXPECT_EQ(run({"lint", LOCKSTEP_SOURCE_DIR}), 2);
  EXPECT_EQ(run({"lint", "/dev/null"}), 2);
  EXPECT_EQ(run({"lint", fine.c_str(), "--at", "nobody"}), 2);
  EXPECT_EQ(run({"lint", fine.c_str(), "--rto-min", "soon"}), 2);
  EXPECT_EQ(run({"lint", fine.c_str(), "--pcapng", fine.c_str()}), 2);
  std::string const both = temporary("both");
  EXPECT_EQ(run({"lint", fine.c_str(), "--pcapng", both.c_str(), "--json", both.c_str()}), 2);
  EXPECT_EQ(run({"lint"}), 2);
}

TEST(Lint, AnotherProtocolIsRefused) {
  std::string const path = temporary("udp.pcapng");
  std::vector<std::byte> bytes = bytes_of({});
  bytes[9] = std::byte{17};
  AtomicFile file(path);
  sim::PcapngWriter writer(file);
  writer.interface(sim::CaptureLink::raw_ip, "test");
  writer.packet({0, Instant{1}, sim::CaptureWay::unknown, bytes, {}, 0});
  file.keep();
  try {
    lint_file(path);
    FAIL() << "was read";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    EXPECT_THAT(failure.what(), HasSubstr("no TCP in 1 packets"));
  }
}

// Certain findings in recordings of Linux are all about the script on the other side (README).
TEST(Lint, OfLinuxNothingIsCertain) {
  std::map<std::string, std::set<std::string>> const explained{
      {"rfc7323-5.3-linux-old-timestamp-unchecked", {"text-changed"}},
      {"rfc9293-3.10.7.2-linux-listen", {"ack-missing"}},
  };
  std::size_t count = 0;
  for (auto const& entry : std::filesystem::directory_iterator(pcaps())) {
    std::string const name = entry.path().filename();
    if (name.find("-linux-") == std::string::npos) {
      continue;
    }
    ++count;
    std::string const capture = entry.path() / "capture.pcapng";
    auto const known = explained.find(name);
    EXPECT_EQ(certain_in(capture),
              known == explained.end() ? std::set<std::string>{} : known->second)
        << name;
    for (const sim::referee::Violation& violation : lint_file(capture).violations) {
      bool const of_linux = violation.certainty() == sim::referee::Certainty::certain &&
                            text_of(violation.speaker.address) == "10.0.0.1";
      EXPECT_FALSE(of_linux) << name << " " << words_of(violation);
    }
  }
  EXPECT_GT(count, 50u);
}

// Our TCP replaces each scenario's device: none of its segments is a certain finding.
TEST(Lint, OfOurTcpInTheScenariosNothingIsCertain) {
  std::string const path = temporary("ours.pcapng");
  std::size_t count = 0;
  for (auto const& entry : std::filesystem::directory_iterator(pcaps())) {
    std::string const file = entry.path() / "scenario.toml";
    if (!std::filesystem::exists(file)) {
      continue;
    }
    std::string const capture = entry.path() / "capture.pcapng";
    conformance::Scenario const scenario = conformance::load_scenario(file);
    conformance::CaptureFlows const flows = conformance::read_flows(capture);
    conformance::Flow const flow = conformance::flow_of(flows, scenario, capture);
    PcapngWriter writer;
    conformance::add_packets(conformance::replay_flow(flow, scenario.device, &scenario), writer);
    save_file(path, writer.bytes());
    ++count;
    for (const sim::referee::Violation& violation : lint_file(path).violations) {
      bool const ours = violation.speaker == scenario.device;
      EXPECT_FALSE(ours && violation.certainty() == sim::referee::Certainty::certain)
          << entry.path() << " packet " << violation.packet << ": " << words_of(violation);
    }
  }
  EXPECT_GT(count, 150u);
}

// Captures of others, if their folder is given: all certain findings there were reviewed.
TEST(Lint, TheWorldsCaptures) {
  const char* const folder = std::getenv("LOCKSTEP_CAPTURES");
  if (folder == nullptr) {
    GTEST_SKIP() << "LOCKSTEP_CAPTURES does not name the folder of captures";
  }
  std::map<std::string, std::set<std::string>> const explained{
      {"syn-then-stuff-then-rst.pcap", {"ack-missing"}},
      {"window-scale-range.pcap", {"scale-too-large"}},
  };
  std::size_t count = 0;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(folder) + "/zeek")) {
    std::string const name = entry.path().filename();
    if (entry.path().extension() == "" || name.find("udp") != std::string::npos ||
        name == "ip4-bad-chksum.pcap") {
      continue;
    }
    ++count;
    auto const known = explained.find(name);
    EXPECT_EQ(certain_in(entry.path()),
              known == explained.end() ? std::set<std::string>{} : known->second)
        << name;
  }
  EXPECT_GT(count, 20u);
}

}  // namespace
}  // namespace lockstep::tools
