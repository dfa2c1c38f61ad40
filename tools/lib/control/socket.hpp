// The control socket of a running program: a Unix socket that lists its connections.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tools/lib/control/lines.hpp"
#include "tools/lib/control/listing.hpp"

namespace lockstep::control {

/// Where control sockets are by default: /run/lockstep for root, else $XDG_RUNTIME_DIR/lockstep;
/// empty if there is neither.
std::string default_folder();

/// Answers clients in a thread of its own. A shard only copies a portion of its records when one is
/// due, at most once in `pace`, whatever clients do; up to `clients_max` of them take turns.
class Socket {
 public:
  static constexpr std::size_t clients_max = 8;
  static constexpr std::size_t request_max = 64;
  static constexpr std::chrono::milliseconds pace{2};
  /// Without progress a client is disconnected after this time.
  static constexpr std::chrono::seconds patience{5};
  /// After a client could not be accepted, so long none is.
  static constexpr std::chrono::milliseconds accept_pause{50};

  /// Creates the socket with mode 0600; its folder must exist. A socket that nobody listens on is
  /// replaced. Throws Failure: bad input if something else is there, else environment.
  Socket(std::string path, Identity who, Listing& listing);
  /// Ends the thread and removes the socket.
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Starts the thread. From then on each shard must give what is wanted.
  void start();
  const std::string& path() const { return path_; }
  /// How often accept(2) failed.
  std::uint64_t refused() const { return refused_.load(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase : std::uint8_t { request, list, last };
  struct Client {
    hw::Descriptor socket;
    Phase phase = Phase::request;
    std::string heard;
    std::string out;
    ShardId shard;
    std::uint32_t next = 0;
    std::uint64_t connections = 0;
    Clock::time_point deadline;
    bool gone = false;
  };

  void run();
  void wait();
  void accept_all();
  void hear(Client& client);
  void send_to(Client& client);
  void take_answer();
  void ask_next();
  bool wants_portion(const Client& client) const;

  std::string path_;
  Identity who_;
  Listing& listing_;
  hw::Descriptor listener_;
  hw::Descriptor stop_;
  std::vector<std::unique_ptr<Client>> clients_;  // the one served last is at the end
  Client* asked_for_ = nullptr;
  bool asked_ = false;  // a portion is wanted, perhaps for a client that has left
  ShardId asked_shard_;
  Clock::time_point may_ask_;
  Clock::time_point may_accept_;
  std::atomic<std::uint64_t> refused_{0};
  bool over_ = false;
  std::thread thread_;
};

}  // namespace lockstep::control
