// The scripts of this folder: each passes, and each fails when an expectation is altered.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "conformance/script/assertion.hpp"
#include "conformance/script/report.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

const std::string room = "conformance/script";

/// An event with one altered expectation, and its description.
struct Altered {
  std::string what;
  Event event;
};

class Alterations {
 public:
  explicit Alterations(const Script& script, const Event& event) : script_(script), event_(event) {}

  std::vector<Altered> all() {
    bool const leaves =
        event_.kind == Event::Kind::packet && event_.packet.direction == Direction::out;
    if (leaves) {
      times();
      ip();
      event_.packet.is_icmp ? icmp() : tcp();
    } else if (event_.kind == Event::Kind::call) {
      call();
    } else if (event_.kind == Event::Kind::code) {
      for (Assertion const& one : parse_code(script_, event_)) {
        add("assertion", [&one](Event& event) { event.code = "assert not (" + one.text + ")"; });
      }
    }
    return std::move(out_);
  }

 private:
  template <class Change>
  void add(std::string what, Change change) {
    out_.push_back({std::move(what), event_});
    change(out_.back().event);
  }

  void times() {
    bool const exact = script_.head.tolerance_ns == 0 && script_.head.tolerance_ppm == 0;
    if (exact && !event_.when.any) {
      add("time", [](Event& event) {
        event.when.begin = event.when.end + 1;
        event.when.end = event.when.begin;
      });
    }
  }

  void ip() {
    IpFields const& has = event_.packet.ip;
    if (has.ecn) {
      add("ecn", [](Event& event) { *event.packet.ip.ecn = (*event.packet.ip.ecn + 1) & 3; });
    }
    if (has.tos) {
      add("tos", [](Event& event) { *event.packet.ip.tos ^= 4; });
    }
    if (has.ttl) {
      add("ttl", [](Event& event) { *event.packet.ip.ttl ^= 1; });
    }
    if (has.flow_label) {
      add("flow label", [](Event& event) { *event.packet.ip.flow_label ^= 1; });
    }
    if (event_.packet.ports) {
      add("port", [](Event& event) { event.packet.ports->destination ^= 1; });
    }
  }

  void icmp() {
    add("type", [](Event& event) { event.packet.icmp.type ^= 1; });
    add("code", [](Event& event) { event.packet.icmp.code ^= 1; });
    add("mtu", [](Event& event) { event.packet.icmp.mtu += 1; });
    if (event_.packet.icmp.id) {
      add("id", [](Event& event) { *event.packet.icmp.id ^= 1; });
    }
    if (event_.packet.icmp.quoted) {
      add("quote", [](Event& event) { event.packet.icmp.quoted->begin += 1; });
      add("quoted length", [](Event& event) { event.packet.icmp.quoted->length += 1; });
    }
  }

  void tcp() {
    TcpPacket const& has = event_.packet.tcp;
    for (int const bit : {0, 1, 2, 3, 5, 6, 7, 8}) {  // ACK is omitted: it goes with its number
      add("flag", [bit](Event& event) {
        event.packet.tcp.flags = static_cast<std::uint16_t>(event.packet.tcp.flags ^ 1u << bit);
      });
    }
    add("length", [](Event& event) { event.packet.tcp.sequence.length += 1; });
    if ((has.flags & 0x02) == 0) {  // the sequence number of a SYN is the script's choice
      add("sequence", [](Event& event) { event.packet.tcp.sequence.begin += 1; });
    }
    if (has.ack) {
      add("ack", [](Event& event) { *event.packet.tcp.ack += 1; });
    }
    if (has.window) {
      add("window", [](Event& event) { *event.packet.tcp.window ^= 1; });
    }
    if (has.urgent) {
      add("urgent", [](Event& event) { *event.packet.tcp.urgent += 1; });
    }
    if (!has.any_options) {
      add("one option more", [](Event& event) { event.packet.tcp.options.emplace_back(); });
    }
    for (std::size_t i = 0; i < has.options.size(); ++i) {
      auto const at = static_cast<std::ptrdiff_t>(i);
      add("one option less", [at](Event& event) {
        event.packet.tcp.options.erase(event.packet.tcp.options.begin() + at);
      });
      if (!has.options[i].data.empty()) {  // for a timestamp, the echo
        add("an option's data",
            [i](Event& event) { event.packet.tcp.options[i].data.back() ^= 1; });
      }
    }
  }

  void call() {
    Call const& has = event_.call;
    bool const opens = has.name == "socket" || has.name.starts_with("accept") ||
                       has.name.starts_with("epoll_create");
    if (has.result && opens && *has.result >= 0) {  // else the number is the script's choice
      add("result", [](Event& event) { event.call.result = -1; });
    } else if (has.result) {
      add("result", [](Event& event) { *event.call.result += 1; });
    }
    if (has.error != 0) {
      add("errno",
          [](Event& event) { event.call.error = event.call.error == EBADF ? EIO : EBADF; });
    }
    bool const exact = script_.head.tolerance_ns == 0 && script_.head.tolerance_ppm == 0;
    if (event_.when.returns_at && exact) {
      add("time", [](Event& event) { *event.when.returns_at += 1; });
    }
    std::size_t const at = has.name == "getsockopt" ? 3 : 2;
    bool const sets = has.name == "ioctl" && has.arguments[1].number == FIONBIO;
    bool const gives = (has.name == "getsockopt" || has.name == "ioctl") && !sets;
    bool const one = gives && has.result == 0 && has.arguments[at].items.size() == 1;
    if (one && has.arguments[at].items[0].kind == Value::Kind::number) {
      add("value", [at](Event& event) { event.call.arguments[at].items[0].number += 1; });
    }
  }

  const Script& script_;
  const Event& event_;
  std::vector<Altered> out_;
};

TEST(Corpus, EachScriptPasses) {
  auto const files = find_scripts({room});
  EXPECT_GE(files.size(), 260u);
  Report const report = run_all(files, {});
  EXPECT_EQ(report.exit_code(), 0) << table_text(report, true, 0);
}

TEST(Corpus, EachAlteredExpectationFails) {
  Arena arena;
  std::map<std::string, std::size_t> altered;
  for (std::string const& file : find_scripts({room})) {
    Script const script = parse_file(file, {});
    std::size_t of_this = 0;
    for (std::size_t i = 0; i < script.events.size(); ++i) {
      for (Altered& one : Alterations(script, script.events[i]).all()) {
        Script twin = script;
        twin.events[i] = std::move(one.event);
        ++of_this;
        ++altered[one.what];
        EXPECT_EQ(run(twin, {}, arena).verdict, Verdict::failed)
            << file << ":" << twin.events[i].place.line << ": " << one.what;
      }
    }
    EXPECT_GE(of_this, 1u) << file;
  }
  std::size_t total = 0;
  for (auto const& [what, count] : altered) {
    total += count;
  }
  EXPECT_GE(total, 13'500u);
  // Each of these kinds occurs in some script.
  for (const char* const what : {"time",
                                 "flag",
                                 "ecn",
                                 "tos",
                                 "ttl",
                                 "port",
                                 "type",
                                 "code",
                                 "id",
                                 "length",
                                 "sequence",
                                 "ack",
                                 "window",
                                 "urgent",
                                 "one option more",
                                 "one option less",
                                 "an option's data",
                                 "result",
                                 "errno",
                                 "value",
                                 "assertion"}) {
    EXPECT_GE(altered[what], 1u) << what;
  }
}

TEST(Corpus, IsTheSameInAnyOrderAndWithAnyJobs) {
  auto files = find_scripts({room});
  Batch batch;
  std::string const once = json_text(run_all(files, batch));
  batch.jobs = 3;
  EXPECT_EQ(json_text(run_all(files, batch)), once);
  // All scripts in one arena, from the last to the first.
  Arena arena;
  Report backwards;
  std::reverse(files.begin(), files.end());
  for (std::string const& file : files) {
    backwards.scripts.push_back(run_file(file, {}, {}, arena));
  }
  std::reverse(backwards.scripts.begin(), backwards.scripts.end());
  EXPECT_EQ(json_text(backwards), once);
}

TEST(Corpus, ReportsSayWhatFailed) {
  Report report;
  Arena arena;
  Script script = parse_file(find_scripts({room}).front(), {});
  report.scripts.push_back(run(script, {}, arena));
  const auto event =
      std::find_if(script.events.rbegin(), script.events.rend(), [](const Event& one) {
        return one.kind == Event::Kind::packet && one.packet.direction == Direction::out;
      });
  ASSERT_NE(event, script.events.rend());
  event->packet.tcp.flags ^= 0x08;
  report.scripts.push_back(run(script, {}, arena));
  report.scripts.push_back(run_file("no/such.pkt", {}, {}, arena));
  EXPECT_EQ(report.exit_code(), 3);
  std::string const tap = tap_text(report);
  EXPECT_EQ(tap.rfind("TAP version 14\n1..3\nok 1 - ", 0), 0u) << tap;
  EXPECT_NE(tap.find("\nnot ok 2 - "), std::string::npos) << tap;
  EXPECT_NE(tap.find("\nnot ok 3 - no/such.pkt\n  ---\n  message: \""), std::string::npos) << tap;
  std::string const junit = junit_text(report);
  EXPECT_NE(junit.find("tests=\"3\" failures=\"1\" errors=\"1\""), std::string::npos) << junit;
  std::string const table = table_text(report, true, 0);
  EXPECT_NE(table.find("1 of 3 scripts pass, 1 fail, 1 cannot be run"), std::string::npos);
  EXPECT_NE(table.find("expected"), std::string::npos) << table;
}

TEST(Corpus, AMissingPathIsRefused) {
  EXPECT_THROW(find_scripts({"no/such"}), tools::Failure);
  EXPECT_THROW(find_scripts({"tools/verbs/cli"}), tools::Failure);
}

}  // namespace
}  // namespace lockstep::conformance::script
