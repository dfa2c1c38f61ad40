// Answers get and set of memcached's text protocol: what its workload talks to in the simulator.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack/stack.hpp"

namespace lockstep::load {

struct CacheSettings {
  Port port{11'211};
  Backlog backlog{Count{1024}, Count::unlimited()};
  Count keys{65'536};  ///< at most; then SERVER_ERROR
  Bytes value_max{1'024};
};

struct CacheCounters {
  std::uint64_t connections = 0;
  std::uint64_t answers = 0;
};

/// The words of a command's line.
struct CacheWords {
  std::array<std::string_view, 5> words{};
  std::uint32_t count = 0;
};

/// All memory is obtained by the constructor. A command is read when all of it has come, so that
/// nothing of one is kept; what cannot be sent yet stays unread.
class CacheServer {
 public:
  static constexpr std::uint32_t key_max = 40;

  CacheServer(const CacheSettings& settings, Count connections_max);

  [[nodiscard]] Refusal start(Stack& stack);

  // An Application, and one that can be stopped (hw/poll/loop.hpp): at once.
  void on_event(Stack& stack, const Event& event);
  void run(Stack&, Instant) {}
  Instant deadline() const { return Instant::never(); }
  void stop(Stack& stack, Instant now);
  bool done() const { return open_ == 0; }
  void abandon(Stack& stack, Instant now);

  std::uint32_t open() const { return open_; }
  const CacheCounters& counters() const { return counters_; }

 private:
  struct Slot {
    ConnectionId id;
    bool is_open = false;
    bool peer_finished = false;
    bool is_closed = false;
    std::uint64_t left_out = 0;  // octets of a value that is too large, yet to be thrown away
  };
  struct Entry {
    std::array<char, key_max> key{};
    std::uint32_t key_length = 0;  // 0: free
    std::uint32_t length = 0;
    std::uint64_t begin = 0;  // of the value in values_
  };
  void go_on(Stack& stack, Slot& slot);
  bool serve_one(Stack& stack, Slot& slot);
  bool leave_out(Stack& stack, Slot& slot);
  Entry* find(std::string_view key);
  std::string_view answer(const CacheWords& words, std::string_view data);
  std::string_view get(std::string_view key);
  std::string_view set(std::string_view key, std::string_view data);

  CacheSettings settings_;
  ListenerId listener_;
  std::uint32_t open_ = 0;
  CacheCounters counters_;
  std::uint32_t used_ = 0;
  std::vector<Slot> slots_;
  std::vector<Entry> entries_;  // open addressing
  std::vector<char> values_;
  std::string command_;  // what of the one being served has come; its room is reserved
  std::string out_;
};

}  // namespace lockstep::load
