// Worker processes that each share a page of memory with their parent.
#include "tools/verbs/swarm/isolated.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>

#include "core/units/check.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/swarm/draw.hpp"
#include "sim/swarm/trial.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t failures_kept = 4'096;
constexpr std::uint64_t silence_polls_max = 6'000;  // of 20 ms
constexpr std::uint64_t no_seed = ~std::uint64_t{0};

struct WorkerPage {
  std::atomic<std::uint64_t> seed{no_seed};
  std::atomic<std::uint64_t> done{0};
  sim::Tally tally;
  std::uint32_t failure_count = 0;
  FailureNote failures[failures_kept];
  FailureNote fatal;  // written by the handler of a failed CHECK
};

struct SharedPages {
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> exhausted{false};
};

template <std::size_t N>
void put(std::array<char, N>& into, std::string_view text) {
  std::size_t const length = std::min(text.size(), N - 1);
  std::memcpy(into.data(), text.data(), length);
  into[length] = '\0';
}

FailureNote* fatal_note = nullptr;

// Runs on the failing thread of a worker, so it only does plain stores.
void note_failed_check(const CheckSite& site) {
  sim::RunNote const run = sim::current_run();
  fatal_note->seed = run.seed;
  fatal_note->at_ns = run.at.ns;
  put(fatal_note->checker, "CHECK");
  put(fatal_note->where, run.host.view());
  char text[200];
  std::snprintf(text, sizeof text, "%s (%s:%d)", site.condition, site.file, site.line);
  put(fatal_note->what, text);
}

// Zeroed memory shared by forked processes.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : bytes_(bytes) {
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) {
      throw Failure(ExitCode::environment, "no memory to share with worker processes");
    }
  }
  ~SharedMemory() { munmap(memory_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  void* at(std::size_t offset) const { return static_cast<char*>(memory_) + offset; }

 private:
  void* memory_;
  std::size_t bytes_;
};

class Swarm {
 public:
  explicit Swarm(const SwarmWork& work)
      : work_(work),
        jobs_(std::max<std::uint32_t>(work.jobs, 1)),
        memory_(page_offset + std::size_t{jobs_} * sizeof(WorkerPage)),
        shared_(new(memory_.at(0)) SharedPages) {
    shared_->next = work.seeds.first;
    for (std::uint32_t i = 0; i < jobs_; ++i) {
      pages_.push_back(new (memory_.at(page_offset + i * sizeof(WorkerPage))) WorkerPage);
    }
    workers_.resize(jobs_);
  }

  SwarmResult run() {
    std::fflush(nullptr);
    for (std::uint32_t i = 0; i < jobs_; ++i) {
      start(i);
    }
    while (running_ != 0) {
      for (std::uint32_t i = 0; i < jobs_; ++i) {
        if (workers_[i].pid != 0) {
          poll(i);
        }
      }
      report_progress();
      timespec const pause{0, 20'000'000};
      if (running_ != 0) {
        nanosleep(&pause, nullptr);
      }
    }
    return collect();
  }

 private:
  static constexpr std::size_t page_offset = 4'096;
  static_assert(sizeof(SharedPages) <= page_offset);

  struct Worker {
    pid_t pid = 0;
    std::uint64_t seed_seen = no_seed;
    std::uint64_t silent_polls = 0;
    bool killed = false;
  };

  void start(std::uint32_t index) {
    WorkerPage& page = *pages_[index];
    page.seed = no_seed;
    pid_t const pid = fork();
    if (pid < 0) {
      throw Failure(ExitCode::environment,
                    "no further process can be started: choose fewer --jobs");
    }
    if (pid == 0) {
      labour(page);
    }
    workers_[index] = {pid, no_seed, 0, false};
    ++running_;
  }

  [[noreturn]] void labour(WorkerPage& page) {
    // The worker ends with its parent, which alone could use the results.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    rlimit const no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    fatal_note = &page.fatal;
    set_check_handler(note_failed_check);
    while (!shared_->exhausted) {
      std::uint64_t const seed = shared_->next.fetch_add(1);
      if (seed >= work_.seeds.last) {
        shared_->exhausted = true;
      }
      if (seed > work_.seeds.last || seed < work_.seeds.first) {
        break;
      }
      page.seed = seed;
      FailureNote note;
      sim::Tally const tally = work_.work(seed, note);
      page.tally.add(tally);
      if (tally.failed != 0 && page.failure_count < failures_kept) {
        page.failures[page.failure_count++] = note;
      }
      page.seed = no_seed;
      ++page.done;
    }
    _exit(0);
  }

  void poll(std::uint32_t index) {
    Worker& worker = workers_[index];
    int status = 0;
    if (waitpid(worker.pid, &status, WNOHANG) == worker.pid) {
      worker.pid = 0;
      --running_;
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        bury(index, status);
        start(index);
      }
      return;
    }
    std::uint64_t const seed = pages_[index]->seed;
    worker.silent_polls = seed == worker.seed_seen && seed != no_seed ? worker.silent_polls + 1 : 0;
    worker.seed_seen = seed;
    if (worker.silent_polls == silence_polls_max) {
      worker.killed = true;
      kill(worker.pid, SIGKILL);
    }
  }

  // The process died: the seed that it ran has failed.
  void bury(std::uint32_t index, int status) {
    WorkerPage& page = *pages_[index];
    FailureNote note;
    note.seed = page.seed;
    if (workers_[index].killed) {
      put(note.checker, "hang");
      put(note.what, "not finished after two minutes");
    } else if (page.fatal.checker[0] != '\0') {
      note = page.fatal;
      note.seed = page.seed;
      page.fatal = FailureNote{};
    } else {
      put(note.checker, "signal");
      put(note.what,
          WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "the process ended with an error");
    }
    if (note.seed == no_seed) {
      throw Failure(ExitCode::environment, "a worker process died between two seeds");
    }
    lost_.push_back(note);
    ++page.done;
  }

  void report_progress() const {
    if (!work_.progress) {
      return;
    }
    std::uint64_t done = 0;
    for (const WorkerPage* page : pages_) {
      done += page->done;
    }
    work_.progress(done);
  }

  SwarmResult collect() const {
    SwarmResult result;
    for (const WorkerPage* page : pages_) {
      result.tally.add(page->tally);
      result.failures.insert(result.failures.end(), page->failures,
                             page->failures + page->failure_count);
    }
    result.tally.seeds += lost_.size();
    result.tally.failed += lost_.size();
    result.failures.insert(result.failures.end(), lost_.begin(), lost_.end());
    std::sort(result.failures.begin(), result.failures.end(),
              [](const FailureNote& a, const FailureNote& b) { return a.seed < b.seed; });
    return result;
  }

  SwarmWork const& work_;
  std::uint32_t jobs_;
  SharedMemory memory_;
  SharedPages* shared_;
  std::vector<WorkerPage*> pages_;
  std::vector<Worker> workers_;
  std::vector<FailureNote> lost_;
  std::uint32_t running_ = 0;
};

}  // namespace

std::string describe(const FailureNote& note) {
  std::string text = fmt::format("{} at {}.{:09} s", note.checker.data(),
                                 note.at_ns / 1'000'000'000, note.at_ns % 1'000'000'000);
  if (note.where[0] != '\0') {
    text += fmt::format(", {}", note.where.data());
  }
  text += fmt::format(": {}", note.what.data());
  if (note.expected != 0 || note.found != 0) {
    text += fmt::format(" (expected {}, found {})", note.expected, note.found);
  }
  if (note.more != 0) {
    text += fmt::format(", and {} more", note.more);
  }
  return text;
}

sim::Tally run_world(const sim::World& world, std::uint64_t seed, FailureNote& note) {
  sim::TrialResult const result =
      sim::run_trial(world, seed, nullptr, with_nics(sim::swarm_registry()));
  if (result.failed()) {
    sim::Finding const first = result.findings.kept().front();
    note.seed = seed;
    note.at_ns = first.at.ns;
    note.expected = first.expected;
    note.found = first.found;
    note.more = result.findings.count() - 1;
    put(note.checker, sim::name_of(first.checker));
    put(note.where, first.where.view());
    put(note.what, first.what);
  }
  return result.tally;
}

sim::Tally run_seed(std::uint64_t seed, FailureNote& note) {
  return run_world(sim::draw_world(seed), seed, note);
}

SwarmResult run_swarm(const SwarmWork& work) { return Swarm(work).run(); }

}  // namespace lockstep::tools
