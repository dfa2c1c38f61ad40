// The descriptors that a script sees: numbers that the host's own close() takes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools::packetdrill {

/// What a live descriptor stands for.
struct Thing {
  enum class Kind : std::uint8_t { nothing, socket, epoll, read_end, write_end };
  Kind kind = Kind::nothing;
  int ours = -1;  ///< of a socket or an epoll: the number that Sockets knows
  std::uint32_t pipe = 0;
  bool nonblocking = false;  ///< of a pipe's end
};

/// Octets between two ends; what is not read waits.
struct Pipe {
  static constexpr std::size_t most = 65'536;
  std::vector<std::byte> text;
  bool read_open = true, write_open = true;

  std::size_t room() const { return most - text.size(); }
};

/// Each live descriptor is one of the process, of /dev/null: the caller may close it behind our
/// back. Sockets that are left are the caller's to close; all else is closed with this.
class Live {
 public:
  Live() = default;
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  /// A descriptor for it, or a negative errno. A thing that had this number and was closed behind
  /// our back is put into `stale`.
  Result open(const Thing& thing, Thing& stale);
  /// Kind::nothing if it is not open.
  Thing find(int fd) const;
  Thing* look(int fd);
  void drop(int fd);  ///< forgotten, and closed
  /// What Sockets calls it, or a number that is none of its own.
  int ours(int fd) const;

  Pipe& pipe(const Thing& thing) { return pipes_[thing.pipe]; }
  std::uint32_t make_pipe();

 private:
  std::map<int, Thing> things_;
  std::vector<Pipe> pipes_;
};

}  // namespace lockstep::tools::packetdrill
