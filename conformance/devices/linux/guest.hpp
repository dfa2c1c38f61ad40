// A Linux kernel as a program in virtual time, and the calls that it takes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::conformance::guest {

/// The kernel has ended, or refuses a setting. The message says so in one line.
class Ended : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The calls of the guest. Their results are below 0 for an error, as -errno.
enum class Call : std::int64_t {
  socket = 1,
  bind,
  listen,
  accept,
  connect,
  send,
  receive,
  shutdown,
  close,
  set,
  get,
  poll,
  sysctl,
  route,
  read_sysctl = 16,
  receive_message = 19,
};

struct Result {
  std::int64_t value = 0;
  std::string octets;
};

/// User-Mode Linux with one more driver: it speaks over one descriptor, in whole messages, and its
/// time passes only when it is told so. A message is a header and octets. Every function throws
/// Ended.
class Guest {
 public:
  /// Boots the kernel `binary`; `seed` decides all that it draws.
  Guest(const std::string& binary, std::uint64_t seed);
  /// Ends it.
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  /// Its clock and its next event, in nanoseconds.
  std::uint64_t now() const { return now_; }
  std::uint64_t next() const { return next_; }

  /// Lets time pass to `until`, with what is due then, or to the first packet that it sends.
  void run(std::uint64_t until);
  /// An IP packet arrives now.
  void packet(std::string_view octets);
  Result call(Call which, std::initializer_list<std::int64_t> numbers = {},
              std::string_view octets = {});
  /// Writes below /proc/sys; the result.
  std::int64_t sysctl(const std::string& name, const std::string& value);
  /// A request to rtnetlink: the octets of its answer.
  std::string netlink(std::uint16_t kind, std::uint16_t flags, std::string_view body);

  /// Makes a copy of the kernel in a process of its own; false: it cannot. take() must follow.
  bool fork();
  /// Continues with the copy that fork() made, or leaves it to another process.
  void take(bool copy);

  std::deque<std::string> sent;  ///< packets that it has sent and that nobody has taken

 private:
  enum class Message : std::uint32_t { idle = 1, frame, result };
  enum class Command : std::uint32_t { run = 1, packet, call, fork };

  void start(const std::string& binary, std::uint64_t seed);
  void command(Command kind, std::uint64_t at, std::initializer_list<std::int64_t> numbers = {},
               std::string_view octets = {});
  void write_command(Command kind, std::uint64_t at, std::initializer_list<std::int64_t> numbers,
                     std::string_view octets);
  void wait();
  std::string_view read_message(Message& kind, std::int64_t& first);
  std::string_view exactly(std::size_t length);
  [[noreturn]] void ended();
  void reap();

  pid_t process_ = -1;
  int channel_ = -1;
  bool is_copy_ = false;
  pid_t copy_ = -1;            ///< between fork() and take() ...
  int copy_channel_ = -1;      ///< ... the copy
  std::vector<pid_t> copies_;  ///< for which this process waits
  std::string read_;           ///< what has arrived ...
  std::size_t at_ = 0;         ///< ... and how much of it was taken
  std::uint64_t now_ = 0, next_ = 0;
  std::deque<Result> results_;
};

/// The path of the kernel. For the library linux.so it is what LOCKSTEP_LINUX names, else
/// build/linux/linux-6.12 beside build/PRESET/devices; for linux-6.1.so LOCKSTEP_LINUX_6_1, else
/// linux-6.1. Throws std::invalid_argument without one.
std::string program(const std::string& library);
/// What a kernel calls itself, as "Linux 6.12.117"; "Linux" if `binary` is none.
std::string title_of(const std::string& binary);

/// The interface and the address that the tester sees.
struct Interface {
  std::string local;
  std::string remote;  ///< gets a route of its own where it is not in the net of `local`
  std::uint32_t mtu = 1'500;
  std::uint32_t first_window = 0;  ///< the route's initial window, in segments; 0: the kernel's own
  std::uint32_t rto_min_ms = 0;    ///< the route's least RTO; 0: the kernel's own
};
inline constexpr std::string_view interface_name = "ls0";
/// Sets the interface and its address up, and the route to its net.
void configure(Guest& guest, const Interface& what);

}  // namespace lockstep::conformance::guest
