// The command line itself: help, version, and one line for each kind of wrong usage.
#include "tools/verbs/cli/program.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <test_paths.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/units/check.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/process/version.hpp"
#include "tools/verbs/cli/left_out.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct Outcome {
  explicit Outcome(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "lockstep");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    code = run_program(static_cast<int>(arguments.size()), arguments.data());
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
  }

  int code = -1;
  std::string out;
  std::string err;
};

/// `lockstep VERB -` in a process of its own, which reads from a small pipe.
class Piped {
 public:
  explicit Piped(const char* verb) {
    std::array<int, 2> in{}, out{};
    CHECK(pipe2(in.data(), O_CLOEXEC) == 0 && pipe2(out.data(), O_CLOEXEC) == 0);
    CHECK(fcntl(in[1], F_SETPIPE_SZ, static_cast<int>(pipe_bytes)) == static_cast<int>(pipe_bytes));
    in_ = in[1];
    out_ = out[0];
    child_ = fork();
    CHECK(child_ >= 0);
    if (child_ == 0) {
      static_cast<void>(std::signal(SIGINT, SIG_DFL));  // a shell's background job ignores it
      static_cast<void>(std::signal(SIGTERM, SIG_DFL));
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(out[1], STDERR_FILENO);
      close(in_);
      const std::array<const char*, 3> arguments{"lockstep", verb, "-"};
      int const code = run_program(3, arguments.data());
      std::fflush(stdout);
      _exit(code);
    }
    close(in[0]);
    close(out[1]);
  }
  Piped(const Piped&) = delete;
  Piped& operator=(const Piped&) = delete;
  ~Piped() {
    if (child_ != 0) {
      kill(child_, SIGKILL);
      end();
    }
    close(out_);
  }

  /// If this returns true for more than the pipe holds, the program has read some of it.
  bool put(std::string_view bytes) const {
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
    return write(in_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  }
  void send(int signal) const { CHECK(kill(child_, signal) == 0); }
  void close_input() {
    close(in_);
    in_ = -1;
  }
  /// What the program printed until it ended.
  std::string output() const {
    std::string out;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = read(out_, buffer.data(), buffer.size())) > 0;) {
      out.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return out;
  }
  /// Waits for its end and returns the status of waitpid().
  int end() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = 0;
    close(in_);
    return status;
  }

  static constexpr std::size_t pipe_bytes = 4096;

 private:
  pid_t child_ = 0;
  int in_ = -1, out_ = -1;
};

/// A capture that is several times as long as the pipe.
std::string long_capture() {
  std::ifstream file(
      std::string(LOCKSTEP_SOURCE_DIR) + "/pcaps/rfc9293-3.8.6-linux-slow-reader/capture.pcapng",
      std::ios::binary);
  std::string out{std::istreambuf_iterator<char>(file), {}};
  CHECK(out.size() > 4 * Piped::pipe_bytes);
  return out;
}

TEST(Program, PrintsTheVersion) {
  const Outcome run({"--version"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, std::string("lockstep ") + version + "\n");
}

TEST(Program, HelpNamesTheVerbs) {
  const Outcome run({"--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("coverage"));
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(Program, EachVerbsHelpHasAnExampleAndJson) {
  for (const std::string verb :
       {"sim run",     "swarm",     "matrix",           "hostile",     "replay",
        "pkt run",     "pkt check", "pkt from-capture", "pkt explain", "pkt sysctls",
        "lint",        "devices",   "coverage",         "clause",      "profiles",
        "serve http",  "load",      "serve memcached",  "testbed",     "doctor",
        "conformance", "sweep",     "serve echo",       "overlaps",    "compare",
        "anonymise",   "ss"}) {
    const std::size_t space = verb.find(' ');
    const std::string first = verb.substr(0, space);
    const std::string second = space == std::string::npos ? "" : verb.substr(space + 1);
    std::vector<const char*> arguments{first.c_str()};
    if (!second.empty()) {
      arguments.push_back(second.c_str());
    }
    arguments.push_back("--help");
    const Outcome run(arguments);
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out, HasSubstr("Example: lockstep " + verb));
    EXPECT_THAT(run.out, HasSubstr("--json"));
    EXPECT_THAT(run.err, IsEmpty());
  }
}

// A capture of one packet, a UDP datagram.
TEST(Program, ReplayAndLintRefuseACaptureWithoutTcp) {
  const std::string path = testing::TempDir() + "program_udp.pcap";
  std::string octets("\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0", 24);
  octets += std::string("\1\0\0\0\0\0\0\0\x1c\0\0\0\x1c\0\0\0", 16);
  octets += std::string("\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\x0a\0\0\1\x0a\0\0\2", 20);
  octets += std::string("\0\1\0\2\0\x08\0\0", 8);
  std::ofstream(path, std::ios::binary) << octets;
  const Outcome lint({"lint", path.c_str()});
  const Outcome replay({"replay", path.c_str()});
  EXPECT_EQ(lint.code, 2);
  EXPECT_THAT(lint.err, HasSubstr("no TCP in 1 packets (1 IP but not TCP)"));
  EXPECT_THAT(lint.err, HasSubstr("record it with tcpdump 'ip6 or tcp'"));
  EXPECT_EQ(replay.code, lint.code);
  EXPECT_EQ(replay.err, lint.err);
}

// On a terminal, Ctrl-C ends `tcpdump -w - | lockstep replay -` by a signal to both: tcpdump writes
// what it still has in its buffer.
TEST(Program, TheFirstSignalEndsTheCaptureOnAPipe) {
  const std::string octets = long_capture();
  for (const char* const verb : {"replay", "lint"}) {
    for (int const signal : {SIGINT, SIGTERM}) {
      Piped without(verb);
      EXPECT_TRUE(without.put(octets));
      without.close_input();
      const std::string expected = without.output();
      EXPECT_TRUE(WIFEXITED(without.end()));
      EXPECT_THAT(expected, HasSubstr("TCP"));

      Piped run(verb);
      EXPECT_TRUE(run.put(octets.substr(0, 2 * Piped::pipe_bytes)));
      run.send(signal);
      EXPECT_TRUE(run.put(octets.substr(2 * Piped::pipe_bytes)));
      run.close_input();
      EXPECT_EQ(run.output(), expected) << verb;
      EXPECT_TRUE(WIFEXITED(run.end())) << verb;
    }
  }
}

TEST(Program, AfterASignalAPipeNeedNotEnd) {
  Piped run("lint");
  EXPECT_TRUE(run.put(long_capture()));
  run.send(SIGINT);
  EXPECT_THAT(run.output(), HasSubstr("TCP"));
  EXPECT_TRUE(WIFEXITED(run.end()));
}

TEST(Program, TheSecondSignalEndsTheProgram) {
  const std::string octets = long_capture();
  Piped run("replay");
  EXPECT_TRUE(run.put(octets.substr(0, 2 * Piped::pipe_bytes)));
  run.send(SIGTERM);
  EXPECT_TRUE(run.put(octets.substr(2 * Piped::pipe_bytes)));
  run.send(SIGINT);
  EXPECT_EQ(run.output(), "");
  int const status = run.end();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

TEST(Program, WrongUsageIsOneLineAndExitCodeTwo) {
  const std::vector<std::vector<const char*>> wrong = {{"coverge"},
                                                       {"--bogus"},
                                                       {"coverage", "--bogus"},
                                                       {"coverage", "--rfc", "x"},
                                                       {"sim"},
                                                       {"sim", "rum"},
                                                       {"swarm"},
                                                       {"swarm", "--jobs", "0"},
                                                       {"replay"},
                                                       {"sim", "run"}};
  for (const std::vector<const char*>& arguments : wrong) {
    const Outcome run(arguments);
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, StartsWith("lockstep: "));
    EXPECT_THAT(run.err, HasSubstr("--help'"));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  EXPECT_THAT(Outcome({"coverge"}).err,
              HasSubstr("there is no verb 'coverge' (did you mean 'coverage'?); see 'lockstep -"));
  EXPECT_THAT(Outcome({"sim", "rum"}).err,
              HasSubstr("there is no verb 'rum' (did you mean 'run'?); see 'lockstep sim --help'"));
  EXPECT_THAT(Outcome({"sim"}).err,
              HasSubstr("a verb is missing: choose run; see 'lockstep sim --help'"));
  EXPECT_THAT(Outcome({"zebra"}).err, HasSubstr("there is no verb 'zebra'; see 'lockstep --help'"));
  EXPECT_THAT(Outcome({"lint", "--wole", "a"}).err,
              HasSubstr("no option --wole (did you mean '--whole'?); see 'lockstep lint --help'"));
  EXPECT_THAT(Outcome({"devices", "serv"}).err,
              HasSubstr("no verb 'serv' (did you mean 'serve'?); see 'lockstep devices --help'"));
  EXPECT_THAT(Outcome({"swarm", "--sedes", "5"}).err,
              HasSubstr("no option --sedes (did you mean '--seeds'?)"));
  EXPECT_THAT(Outcome({"lint", "--zebra=5", "a"}).err,
              HasSubstr("there is no option --zebra; see 'lockstep lint --help'"));
}

TEST(Program, HelpIsAVerbToo) {
  EXPECT_EQ(Outcome({}).out, Outcome({"--help"}).out);
  EXPECT_EQ(Outcome({}).code, 0);
  for (std::vector<const char*> verb :
       {std::vector<const char*>{}, {"lint"}, {"sim"}, {"sim", "run"}}) {
    std::vector<const char*> asked{"help"};
    asked.insert(asked.end(), verb.begin(), verb.end());
    verb.push_back("--help");
    EXPECT_EQ(Outcome(asked).out, Outcome(verb).out);
    EXPECT_EQ(Outcome(asked).code, 0);
  }
  const Outcome wrong({"help", "sim", "rn"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.out, IsEmpty());
  EXPECT_EQ(wrong.err,
            "lockstep: there is no verb 'rn' (did you mean 'run'?); see 'lockstep sim --help'\n");
}

TEST(Program, OutputThatIsLostIsAFailure) {
  std::fflush(stdout);
  testing::internal::CaptureStderr();
  const int kept = dup(STDOUT_FILENO);
  const int full = open("/dev/full", O_WRONLY);
  dup2(full, STDOUT_FILENO);
  const char* const arguments[] = {"lockstep", "--help"};
  const int code = run_program(2, arguments);
  std::clearerr(stdout);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  close(full);
  EXPECT_EQ(code, 3);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              StartsWith("lockstep: standard output cannot be written"));
}

TEST(Program, AVerbsFailureIsOneLineWithItsCode) {
  const Outcome run({"coverage", "--root", "/nonexistent"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, StartsWith("lockstep: /nonexistent/conformance/requirements: "));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

TEST(Program, AFailedCheckSaysWhatFailed) {
  const char* const version_of[] = {"lockstep", "--version"};
  EXPECT_DEATH((run_program(2, version_of), check_failed({"one == two", "some.cpp", 7})),
               "internal error: CHECK\\(one == two\\) failed at some.cpp:7; please report it");
}

TEST(Program, RefusesAVerbThatTheBuildLeftOut) {
  CLI::App app{"Lockstep", "lockstep"};
  leave_out(app, "serve");
  EXPECT_THAT(app.help(), Not(HasSubstr("serve")));
  for (const char* const words : {"serve", "serve http --tap lock0", "serve --help"}) {
    try {
      app.parse(words);
      ADD_FAILURE() << words << " was not refused";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::environment) << words;
      EXPECT_THAT(failure.what(), StartsWith("'serve' is not in this program")) << words;
      EXPECT_THAT(failure.what(), HasSubstr("tools/quickstart")) << words;
    }
  }
}

}  // namespace
}  // namespace lockstep::tools
