// The descriptors that a script sees: real ones, so that the host's own close() works on them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools::packetdrill {

/// The object that a live descriptor stands for.
struct Thing {
  enum class Kind : std::uint8_t { nothing, socket, epoll, read_end, write_end };
  Kind kind = Kind::nothing;
  int ours = -1;  ///< socket or epoll: its number in Sockets
  std::uint32_t pipe = 0;
  bool nonblocking = false;  ///< for a pipe's end
};

/// Octets between the two ends of a pipe; unread ones wait.
struct Pipe {
  static constexpr std::size_t most = 65'536;
  std::vector<std::byte> text;
  bool read_open = true, write_open = true;

  std::size_t room() const { return most - text.size(); }
};

/// Each live descriptor is one of the process, open on /dev/null, so the caller may close it
/// directly. Sockets that are left are the caller's to close; the destructor closes the others.
class Live {
 public:
  Live() = default;
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  /// A descriptor for `thing`, or a negative errno. If the number belonged to an object that the
  /// caller closed directly, that is moved to `stale`.
  Result open(const Thing& thing, Thing& stale);
  /// Kind::nothing if it is not open.
  Thing find(int fd) const;
  Thing* look(int fd);
  void drop(int fd);  ///< forgets and closes it
  /// The number in Sockets, or one that Sockets does not use.
  int ours(int fd) const;

  Pipe& pipe(const Thing& thing) { return pipes_[thing.pipe]; }
  std::uint32_t make_pipe();

 private:
  std::map<int, Thing> things_;
  std::vector<Pipe> pipes_;
};

}  // namespace lockstep::tools::packetdrill
