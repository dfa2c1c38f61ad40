// Plays inputs in child processes, so that a device that crashes or hangs ends nothing else.
#include "conformance/compare/contained.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "conformance/compare/play.hpp"
#include "conformance/devices/load.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::compare {
namespace {

using tools::ExitCode;
using tools::Failure;

constexpr std::uint32_t batch_most = 4'096;
constexpr int signal_base = 128;  // of exit codes that stand for signals
constexpr std::size_t line_room = 512;

using Line = std::array<char, line_room>;

void put_line(Line& into, std::string_view text) {
  std::size_t const length = std::min(text.size(), into.size() - 1);
  std::memcpy(into.data(), text.data(), length);
  into[length] = '\0';
}

double seconds_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// What the device printed last: one line.
std::string last_line_of(int file) {
  std::array<char, 1'024> text{};
  off_t const size = lseek(file, 0, SEEK_END);
  off_t const from = std::max<off_t>(0, size - std::ssize(text));
  ssize_t const got = pread(file, text.data(), text.size(), from);
  std::string_view all(text.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  while (all.ends_with('\n')) {
    all.remove_suffix(1);
  }
  return std::string(all.substr(all.rfind('\n') + 1).substr(0, 200));
}

}  // namespace

/// Shared by the processes.
struct ContainedDevice::Page {
  std::atomic<std::uint32_t> at{0};     ///< the input that is played
  std::atomic<std::int32_t> player{0};  ///< the process that plays it
  HostNote note;
  std::array<Seen, batch_most> seen;
  Line fault{};    ///< of the last input that broke the device
  Line detail{};   ///< of the rule that was asked for
  Line refusal{};  ///< why the device cannot be created
};

/// Owns a page, and the file of what the device prints.
class ContainedDevice::Sheet {
 public:
  Sheet() {
    memory_ =
        mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    printed_ = memfd_create("device", MFD_CLOEXEC);
    if (memory_ == MAP_FAILED || printed_ < 0) {
      throw Failure(ExitCode::environment, "no memory to share with a device's process");
    }
    new (memory_) Page;
  }
  ~Sheet() {
    munmap(memory_, sizeof(Page));
    close(printed_);
  }
  Sheet(const Sheet&) = delete;
  Sheet& operator=(const Sheet&) = delete;

  Page& page() const { return *static_cast<Page*>(memory_); }
  int printed() const { return printed_; }

 private:
  void* memory_ = nullptr;
  int printed_ = -1;
};

/// Inputs [begin, end) of a page.
struct ContainedDevice::Work {
  std::uint32_t begin, end;
  const std::function<Input(std::uint32_t)>& input_of;
  std::size_t rule = all_rules;  ///< whose detail is asked for
  Page* page = nullptr;
  int printed = -1;
};

ContainedDevice::ContainedDevice(std::filesystem::path path, std::chrono::milliseconds patience)
    : path_(std::move(path)),
      name_(device_name(path_)),
      patience_(patience),
      ours_(name_ == "lockstep") {}

std::string ContainedDevice::why_left_out() const try {
  DevicePeer const peer(path_);
  for (const char* const call :
       {"listen", "accept", "connect", "send", "receive", "finish", "close"}) {
    if (!peer.about().calls.contains(call)) {
      return fmt::format("it has no call {}", call);
    }
  }
  return peer.about().abilities.contains("ipv4") ? "" : "it has no IPv4";
} catch (const DeviceFault& fault) {
  throw Failure(ExitCode::finding, fault.what());
}

/// In the child: plays, in a process for each input unless the device can be created again.
void ContainedDevice::serve(const Work& work) const {
  Page& page = *work.page;
  try {
    bool const program = is_program(path_);
    std::unique_ptr<Host> host = program ? nullptr : open_host(path_, &page.note);
    const auto one = [&](std::uint32_t i) {
      page.player = getpid();
      if (program) {
        host = open_host(path_);
      }
      Played const played = compare::play(*host, work.input_of(i), ours_);
      page.seen[i] = {played.broken, played.outcome};
      put_line(page.fault, played.fault);
      auto const detail = played.details.find(work.rule);
      put_line(page.detail, detail == played.details.end() ? "" : detail->second);
    };
    for (std::uint32_t i = work.begin; i < work.end; ++i) {
      page.at = i;
      if (!program && host->is_renewable()) {
        one(i);
        continue;
      }
      pid_t const player = fork();
      if (player == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        one(i);
        _exit(0);
      }
      int status = 0;
      waitpid(player, &status, 0);
      if (player < 0 || status != 0) {
        _exit(WIFSIGNALED(status) ? signal_base + WTERMSIG(status) : WEXITSTATUS(status));
      }
    }
    _exit(0);
  } catch (const std::exception& error) {
    put_line(page.refusal, error.what());
    _exit(1);
  }
}

/// Runs a child until it ends or hangs; returns its wait status, or -1.
int ContainedDevice::run(const Work& work) const {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Failure(ExitCode::environment, "no descriptor is left: raise ulimit -n");
  }
  std::fflush(nullptr);
  pid_t const child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(work.printed, STDOUT_FILENO);
    dup2(work.printed, STDERR_FILENO);
    close(ends[0]);
    serve(work);
  }
  close(ends[1]);
  // The pipe ends with the last process that has it.
  pollfd entry{ends[0], POLLIN, 0};
  bool hangs = false;
  std::uint32_t before = ~std::uint32_t{0};
  while (child > 0 && !hangs && ::poll(&entry, 1, static_cast<int>(patience_.count())) <= 0) {
    hangs = before == work.page->at;
    before = work.page->at;
  }
  if (hangs) {
    kill(child, SIGKILL);  // and with it the process of the input
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  if (child < 0) {
    throw Failure(ExitCode::environment, "no process can be started for the device");
  }
  return hangs ? -1 : status;
}

/// How the process of an input ended: one line.
std::string ContainedDevice::ending_of(const Page& page, int status, int printed) const {
  std::uint32_t const call = page.note.call;
  std::string const head =
      fmt::format("device {}: {}: ", name_,
                  call == 0 ? "about" : name_of(static_cast<lockstep_device_call>(call)));
  if (status == -1) {
    return head + fmt::format("it has not answered in {:g} s",
                              static_cast<double>(patience_.count()) / 1e3);
  }
  int const code = WIFSIGNALED(status) ? signal_base + WTERMSIG(status) : WEXITSTATUS(status);
  std::string const line = last_line_of(printed);
  return head +
         (code > signal_base
              ? fmt::format("it has ended by SIG{}", sigabbrev_np(code - signal_base))
              : fmt::format("it has ended with exit code {}", code)) +
         (line.empty() ? "" : ": " + line);
}

/// Plays the inputs of a page, with a new child after each crash.
void ContainedDevice::play_part(const Work& work, Sheet& sheet) const {
  Page& page = sheet.page();
  Work rest = work;
  rest.page = &page;
  rest.printed = sheet.printed();
  while (rest.begin < rest.end) {
    page.note.call = 0;
    int const status = run(rest);
    if (page.refusal[0] != '\0') {
      throw Failure(ExitCode::bad_input, page.refusal.data());
    }
    if (status == 0) {
      return;
    }
    std::uint32_t const at = page.at;
    page.seen[at].broken.set(index_of(CompareRule::device_broken));
    put_line(page.fault, ending_of(page, status, rest.printed));
    rest.begin = at + 1;
  }
}

Batch ContainedDevice::play(std::uint32_t count,
                            const std::function<Input(std::uint32_t)>& input_of) const {
  Batch out;
  double const before = seconds_of_children();
  while (out.seen.size() < count) {
    auto const done = static_cast<std::uint32_t>(out.seen.size());
    auto const part = std::min(count - done, batch_most);
    const std::function<Input(std::uint32_t)> input = [&](std::uint32_t i) {
      return input_of(done + i);
    };
    Sheet sheet;
    play_part({0, part, input}, sheet);
    out.seen.insert(out.seen.end(), sheet.page().seen.begin(), sheet.page().seen.begin() + part);
  }
  out.seconds = seconds_of_children() - before;
  return out;
}

ContainedDevice::Detail ContainedDevice::play_one(const Input& input, std::size_t rule) const {
  const std::function<Input(std::uint32_t)> same = [&](std::uint32_t) { return input; };
  Sheet sheet;
  play_part({0, 1, same, rule}, sheet);
  Page const& page = sheet.page();
  bool const fault = rule == index_of(CompareRule::device_broken);
  return {page.seen[0], fault ? page.fault.data() : page.detail.data()};
}

}  // namespace lockstep::conformance::compare
