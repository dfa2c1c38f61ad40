// The pipes of a script, for splice(): they belong to the script, whatever TCP it runs on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::conformance::script {

/// As Linux's pipe(7), of 64 KiB; only how many octets one holds counts.
class Pipes {
 public:
  struct Ends {
    int read, write;
  };
  /// The descriptors of a new pipe, which are not those of any socket.
  Ends open();
  /// Whether the descriptor is an end of a pipe, of this kind.
  bool is_open(int end) const;
  static bool is_read_end(int end) { return is_end(end) && (end - first) % 2 == 0; }
  static bool is_write_end(int end) { return is_end(end) && (end - first) % 2 == 1; }
  static bool is_end(int end) { return end >= first; }
  /// 0, or -1 and errno.
  int close(int end);

  /// How many octets can be read: none means that a read would wait, or with `over` the end.
  std::int64_t held(int read_end) const { return of(read_end).held; }
  bool over(int read_end) const { return of(read_end).held == 0 && !of(read_end).write_open; }
  std::int64_t room(int write_end) const { return capacity - of(write_end).held; }
  bool broken(int write_end) const { return !of(write_end).read_open; }
  void take(int read_end, std::int64_t octets) { at(read_end).held -= octets; }
  void put(int write_end, std::int64_t octets) { at(write_end).held += octets; }

 private:
  static constexpr int first = 1 << 30;
  static constexpr std::int64_t capacity = 65'536;
  struct Pipe {
    std::int64_t held = 0;
    bool read_open = true, write_open = true;
  };
  const Pipe& of(int end) const { return pipes_[static_cast<std::size_t>(end - first) / 2]; }
  Pipe& at(int end) { return pipes_[static_cast<std::size_t>(end - first) / 2]; }

  std::vector<Pipe> pipes_;
};

}  // namespace lockstep::conformance::script
