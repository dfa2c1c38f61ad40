// Answers get and set of memcached's text protocol: the server of that workload in the simulator.
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
  Count keys{65'536};  ///< at most; beyond that, SERVER_ERROR
  Bytes value_max{1'024};
};

struct CacheCounters {
  std::uint64_t connections = 0;
  std::uint64_t answers = 0;
};

/// The words of a command line.
struct CacheWords {
  std::array<std::string_view, 5> words{};
  std::uint32_t count = 0;
};

/// All memory is allocated by the constructor. A command is read only when all of it has arrived,
/// so no partial command is stored; while its response cannot be sent it stays unread.
class CacheServer {
 public:
  static constexpr std::uint32_t key_max = 40;

  CacheServer(const CacheSettings& settings, Count connections_max);

  [[nodiscard]] Refusal start(Stack& stack);

  // An Application that can be stopped at once (hw/poll/loop.hpp).
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
    std::uint64_t left_out = 0;  // octets of an oversized value still to be discarded
  };
  struct Entry {
    std::array<char, key_max> key{};
    std::uint32_t key_length = 0;  // 0: a free entry
    std::uint32_t length = 0;
    std::uint64_t begin = 0;  // offset of the value in values_
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
  std::string command_;  // what has arrived of the current command; its capacity is reserved
  std::string out_;
};

}  // namespace lockstep::load
