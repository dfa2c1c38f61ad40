// Answers get, set and delete of memcached's text protocol: the server of that workload.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack/stack.hpp"
#include "tools/lib/load/cache_store.hpp"

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

/// The words of a command line; of a get there may be more keys.
struct CacheWords {
  std::array<std::string_view, 8> words{};
  std::uint32_t count = 0;
};

/// What a command line asks for.
enum class CacheVerb : std::uint8_t {
  unknown,
  get,
  set,
  remove,  ///< delete
  version,
  quit,
  lacking,        ///< a command of memcached that is not here
  lacking_store,  ///< ... with a value behind its line
};

/// A value that follows a command line.
struct CacheValue {
  bool follows = false;
  bool is_valid = false;  ///< flags, expiry and length are numbers
  bool fits = false;
  bool expires = false;
  std::uint32_t flags = 0;
  std::uint32_t octets = 0;
};

/// No expiry, no eviction, no statistics: a counterpart of `lockstep load`, not a product. All
/// memory is allocated by the constructor. A command is read only when all of it has arrived, so no
/// partial command is stored; while its response cannot be sent it stays unread.
class CacheServer {
 public:
  static constexpr std::uint32_t key_max = CacheStore::key_max;

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
    std::uint64_t left_out = 0;   // octets of an unwanted value still to be discarded
    std::uint32_t keys_done = 0;  // octets of the line of a get whose keys are answered
  };
  void go_on(Stack& stack, Slot& slot);
  bool serve_one(Stack& stack, Slot& slot);
  bool leave_out(Stack& stack, Slot& slot);
  bool answer_get(Stack& stack, Slot& slot, std::string_view line);
  bool send(Stack& stack, const Slot& slot, std::string_view said);
  void compose_value(std::string_view key);
  CacheValue value_of(CacheVerb verb, const CacheWords& words) const;
  std::string_view answer(CacheVerb verb, const CacheWords& words, const CacheValue& value,
                          std::string_view data);
  std::string_view store(const CacheWords& words, const CacheValue& value, std::string_view data);
  std::string_view refuse_by_name(std::string_view name);

  CacheSettings settings_;
  ListenerId listener_;
  std::uint32_t open_ = 0;
  CacheCounters counters_;
  std::vector<Slot> slots_;
  CacheStore store_;
  std::string command_;  // what has arrived of the current command; its capacity is reserved
  std::string out_;
};

}  // namespace lockstep::load
