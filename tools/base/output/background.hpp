// Work in a thread of its own, at regular times and once at the end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::tools {

class Background {
 public:
  using Work = std::function<void()>;

  Background(std::chrono::milliseconds every, Work work)
      : every_(every), work_(std::move(work)), thread_([this] { run(); }) {}
  /// Does the work a last time.
  ~Background() {
    {
      std::lock_guard const lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  void run() {
    for (bool last = false; !last;) {
      {
        std::unique_lock lock(mutex_);
        last = changed_.wait_for(lock, every_, [this] { return over_; });
      }
      work_();
    }
  }

  std::chrono::milliseconds every_;
  Work work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last, as it uses all others
};

}  // namespace lockstep::tools
