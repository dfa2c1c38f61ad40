// For tests: takes packetdrill's place. Loads the library, makes the calls in order, and has a
// second thread for calls that block.
#pragma once

#include <dlfcn.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "conformance/packetdrill/interface.h"
#include "conformance/script/compare.hpp"
#include "conformance/script/packet.hpp"
#include "conformance/script/syntax.hpp"

namespace lockstep::tools::packetdrill::testing {

namespace script = conformance::script;

/// "3", or the errno of a call that returned -1.
inline std::string said(long result) {
  if (result != -1) {
    return std::to_string(result);
  }
  char const* const name = strerrorname_np(errno);
  return name == nullptr ? std::to_string(errno) : name;
}

#ifndef LOCKSTEP_PACKETDRILL_SO
#define LOCKSTEP_PACKETDRILL_SO "liblockstep_packetdrill.so"  // the build sets its path
#endif

using Init = void (*)(const char*, packetdrill_interface*);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer) ||
                                  __has_feature(thread_sanitizer) ||
                                  __has_feature(memory_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

/// The library; it stays loaded until the process ends.
inline Init load() {
  int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  // The library must use a sanitizer's allocator.
  flags |= sanitized ? 0 : RTLD_DEEPBIND;
  void* const library = dlopen(LOCKSTEP_PACKETDRILL_SO, flags);
  EXPECT_NE(library, nullptr) << dlerror();
  return reinterpret_cast<Init>(dlsym(library, "packetdrill_interface_init"));
}

/// Whether a thread sleeps, checked as packetdrill does.
inline bool is_asleep(int thread_id) {
  std::string const path = fmt::format("/proc/self/task/{}/stat", thread_id);
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) {
    return false;
  }
  char text[256] = {};
  std::size_t const size = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  std::string const whole(text, size);
  std::size_t const end = whole.rfind(')');
  return end != std::string::npos && end + 2 < size && whole[end + 2] == 'S';
}

/// One script: from init() to free(). Times are microseconds from its start.
class Drill {
 public:
  static constexpr const char* flags4 = "local_ip=192.168.0.1";

  explicit Drill(const char* flags = flags4, bool v6 = false) : v6_(v6) {
    std::memset(&calls, 0, sizeof calls);
    helper_ = std::thread([this] { help(); });
    load()(flags, &calls);
    for (int i = 0; i < 10; ++i) {
      start_ = time();
    }
    start_ += 250;
    while (time() < start_) {
    }
    flow.local = {v6 ? IpAddress{0xfd3d'0a0b'17d6'0000, 1} : IpAddress::v4(192, 168, 0, 1), {8080}};
    flow.active = true;  // unless a SYN arrives first
    flow.remote = {v6 ? IpAddress{0x2001'0db8'0000'0000, 1} : IpAddress::v4(192, 0, 2, 1), {40000}};
  }

  /// Ends the script as packetdrill does.
  ~Drill() {
    {
      std::lock_guard const lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    bool const alone = through_;
    if (!alone) {
      calls.free(calls.userdata);  // its call returns
    }
    helper_.join();
    for (int const fd : sockets) {
      EXPECT_EQ(::close(fd), 0) << fd;
    }
    if (alone && flow.last_sent != 0) {
      arrive("R. 1:1(0) ack 1 win 0");
    }
    if (alone) {
      calls.free(calls.userdata);
    }
  }

  void* ud() const { return calls.userdata; }
  /// Microseconds by gettimeofday.
  long long time() const {
    timeval now{};
    EXPECT_EQ(calls.gettimeofday(calls.userdata, &now, nullptr), 0);
    return now.tv_sec * 1'000'000LL + now.tv_usec;
  }
  long long now() const { return time() - start_; }
  /// The start of the script by gettimeofday.
  long long began() const { return start_; }
  void wait_until(long long at) const {
    constexpr long long most = 1'000'000'000;  // fits a useconds_t
    long long left = at - now();
    for (; left > most; left -= most) {
      calls.usleep(calls.userdata, static_cast<useconds_t>(most - 20));
    }
    if (left > 20) {
      calls.usleep(calls.userdata, static_cast<useconds_t>(left - 20));
    }
    while (now() < at) {
    }
  }

  // ---- packets, as scripts write them ----

  static script::Packet packet(const std::string& text) {
    return script::parse("kit", "0 " + text + "\n", {}).events.front().packet;
  }
  void arrive(const std::string& text) {
    script::Packet const one = packet("< " + text);
    if ((one.tcp.flags & 0x12) == 0x02) {
      flow.opening = true;
      flow.local_known = true;
    }
    auto const bytes = script::build(one, flow);
    note(fmt::format("< {}", text));
    EXPECT_EQ(calls.netdev_send(ud(), bytes.data(), bytes.size()), 0);
  }
  /// The next packet sent; "none" if there is none.
  std::string leaves(const std::string& expected = "") {
    std::vector<std::byte> room(65'536);
    size_t count = room.size();
    long long at = 0;
    EXPECT_EQ(calls.netdev_receive(ud(), room.data(), &count, &at), 0);
    if (count == 0) {
      return "none";
    }
    left_at = at - start_;
    script::Live const live = script::read_live(std::span(room).first(count));
    EXPECT_TRUE(live.readable) << live.complaint;
    if (!expected.empty()) {
      script::Packet const wanted = packet("> " + expected);
      script::learn(wanted, live, flow);
      for (script::Row const& row : script::compare(wanted, live, flow, false)) {
        EXPECT_FALSE(row.differs) << expected << ": " << row.field << " " << row.actual;
      }
    }
    std::string const text = script::live_text(live, flow);
    note(fmt::format("{} at {}", text, left_at));
    return text;
  }

  // ---- sockets ----

  sockaddr_storage name(bool remote, socklen_t& length) const {
    Endpoint const& end = remote ? flow.remote : flow.local;
    sockaddr_storage out{};
    if (!v6_) {
      sockaddr_in four{};
      four.sin_family = AF_INET;
      four.sin_port = htons(remote ? 8080 : end.port.value);
      four.sin_addr.s_addr = htonl(end.address.as_v4().value);
      std::memcpy(&out, &four, sizeof four);
      length = sizeof four;
      return out;
    }
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(remote ? 8080 : end.port.value);
    for (int i = 0; i < 16; ++i) {
      std::uint64_t const half = i < 8 ? end.address.high : end.address.low;
      six.sin6_addr.s6_addr[i] = static_cast<std::uint8_t>(half >> (56 - 8 * (i % 8)));
    }
    std::memcpy(&out, &six, sizeof six);
    length = sizeof six;
    return out;
  }
  int socket() {
    int const fd = calls.socket(ud(), v6_ ? AF_INET6 : AF_INET, SOCK_STREAM, IPPROTO_TCP);
    EXPECT_GE(fd, 0) << said(fd);
    sockets.push_back(fd);
    return fd;
  }
  int close(int fd) {
    std::erase(sockets, fd);
    return calls.close(ud(), fd);
  }
  int listening() {
    int const fd = socket();
    socklen_t length = 0;
    sockaddr_storage const at = name(false, length);
    EXPECT_EQ(said(calls.bind(ud(), fd, reinterpret_cast<const sockaddr*>(&at), length)), "0");
    EXPECT_EQ(said(calls.listen(ud(), fd, 1)), "0");
    return fd;
  }
  /// A passive connection; its listener is closed.
  int accepted() {
    int const listener = listening();
    arrive("S 0:0(0) win 65535 <mss 1000>");
    leaves("S. 0:0(0) ack 1 <...>");
    arrive(". 1:1(0) ack 1 win 65535");
    int const fd = calls.accept(ud(), listener, nullptr, nullptr);
    EXPECT_GE(fd, 0) << said(fd);
    sockets.push_back(fd);
    EXPECT_EQ(close(listener), 0);
    return fd;
  }

  // ---- the thread for calls that block ----

  /// Makes a call on the second thread at an instant. Returns when that thread is asleep in the
  /// call, or when the call has returned.
  void block(long long at, std::function<long()> call) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return job_ == nullptr; });
    job_ = std::move(call);
    job_at_ = at;
    returned_ = false;
    through_ = false;
    changed_.notify_all();
    while (!returned_ && !(called_ && is_asleep(helper_id_))) {
      changed_.wait_for(lock, std::chrono::microseconds(200));
    }
  }
  /// Whether the last call has returned.
  bool is_through() const { return through_; }
  /// The result of the call and its time; advances the clock while waiting, at most to `by`.
  std::string came_back(long long by) {
    for (long long left = by - now(); !through_ && left > 0; left = by - now()) {
      calls.usleep(ud(), left > 10'000'000 ? 100'000 : 80);
    }
    // The clock was held until the thread read the time, so through_ is final now.
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return returned_ || !through_; });
    return returned_ ? result_ : "blocked";
  }

  void note(const std::string& line) { log.push_back(line); }

  packetdrill_interface calls{};
  script::Flow flow;
  std::vector<int> sockets;  // open sockets
  long long left_at = 0;
  std::vector<std::string> log;

 private:
  void help() {
    std::unique_lock lock(mutex_);
    helper_id_ = static_cast<int>(syscall(SYS_gettid));
    for (;;) {
      changed_.wait(lock, [&] { return over_ || job_ != nullptr; });
      if (over_) {
        return;
      }
      auto const job = job_;
      long long const at = job_at_;
      lock.unlock();
      wait_until(at);
      lock.lock();
      called_ = true;
      lock.unlock();
      long const given = job();
      through_ = true;
      std::string const text = said(given);
      lock.lock();
      if (over_) {
        return;
      }
      lock.unlock();
      long long const when = now();
      lock.lock();
      result_ = fmt::format("{} at {}", text, when);
      called_ = false;
      returned_ = true;
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  bool v6_;
  long long start_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread helper_;
  int helper_id_ = 0;
  std::function<long()> job_;
  long long job_at_ = 0;
  bool called_ = false;  // the job has started its call
  bool returned_ = true;
  std::atomic<bool> through_ = true;  // its call has returned, perhaps without result_ set
  bool over_ = false;
  std::string result_;
};

}  // namespace lockstep::tools::packetdrill::testing
