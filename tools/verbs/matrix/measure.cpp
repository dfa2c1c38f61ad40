// Worker processes that take runs from a shared counter and write results to shared memory.
#include "tools/verbs/matrix/measure.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <new>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t runs_per_cell = 2 * cell_seeds;

// Such a cell has no random event, so all seeds give the same result.
bool is_plain(const Cell& cell) {
  return cell.loss.per_billion == 0 && cell.reordering == Reordering::none;
}

std::uint32_t median(std::array<std::uint32_t, cell_seeds> values) {
  std::sort(values.begin(), values.end());
  return values[cell_seeds / 2];
}

class Workers {
 public:
  explicit Workers(const MatrixWork& work)
      : work_(work), runs_(work.cells.size() * runs_per_cell), bytes_(sizeof(Shared) + runs_ * 4) {
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw Failure(ExitCode::environment, "no memory to share with worker processes");
    }
    shared_ = new (memory) Shared;
    results_ = reinterpret_cast<std::uint32_t*>(shared_ + 1);
  }
  ~Workers() {
    for (pid_t const pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    munmap(shared_, bytes_);
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  std::vector<CellResult> run() {
    std::fflush(nullptr);
    for (std::uint32_t i = 0; i < work_.jobs; ++i) {
      start();
    }
    while (!pids_.empty()) {
      timespec const pause{0, 20'000'000};
      nanosleep(&pause, nullptr);
      bury();
      if (work_.progress) {
        work_.progress(shared_->done, runs_);
      }
    }
    return collect();
  }

 private:
  struct Shared {
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint64_t> done{0};
  };

  void start() {
    pid_t const pid = fork();
    if (pid < 0) {
      throw Failure(ExitCode::environment,
                    "no further process can be started: choose fewer --jobs");
    }
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      labour();
    }
    pids_.push_back(pid);
  }

  [[noreturn]] void labour() {
    for (std::uint64_t i = shared_->next++; i < runs_; i = shared_->next++) {
      Cell const& cell = work_.cells[i / runs_per_cell];
      std::uint64_t const seed = i % cell_seeds + 1;
      Rack const rack = i % runs_per_cell < cell_seeds ? Rack::on : Rack::off;
      if (seed == 1 || !is_plain(cell)) {
        results_[i] = run_cell(cell, rack, seed, work_.port);
      }
      ++shared_->done;
    }
    _exit(0);
  }

  void bury() {
    for (std::size_t i = pids_.size(); i-- != 0;) {
      int status = 0;
      if (waitpid(pids_[i], &status, WNOHANG) == pids_[i]) {
        pids_.erase(pids_.begin() + static_cast<std::ptrdiff_t>(i));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
          throw Failure(ExitCode::finding, "a worker process of the matrix died");
        }
      }
    }
  }

  std::vector<CellResult> collect() const {
    std::vector<CellResult> out;
    const std::uint32_t* at = results_;
    for (const Cell& cell : work_.cells) {
      std::array<std::array<std::uint32_t, cell_seeds>, 2> values{};
      for (auto& each : values) {
        std::copy_n(at, cell_seeds, each.begin());
        if (is_plain(cell)) {
          each.fill(each[0]);
        }
        at += cell_seeds;
      }
      out.push_back({cell, median(values[0]), median(values[1])});
    }
    return out;
  }

  const MatrixWork& work_;
  std::uint64_t runs_;
  std::size_t bytes_;
  Shared* shared_ = nullptr;
  std::uint32_t* results_ = nullptr;
  std::vector<pid_t> pids_;
};

}  // namespace

std::vector<CellResult> measure(const MatrixWork& work) { return Workers(work).run(); }

}  // namespace lockstep::tools
