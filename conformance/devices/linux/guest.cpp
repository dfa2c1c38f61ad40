// A Linux kernel as a program in virtual time, and the calls that it takes.
#include "conformance/devices/linux/guest.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace lockstep::conformance::guest {
namespace {

// The guest's descriptor. Its number is a part of the command line, which seeds the kernel.
constexpr int channel_of_guest = 3;
constexpr std::size_t header_bytes = 48;
constexpr std::size_t piece_bytes = std::size_t{1} << 18;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T get(std::string_view from, std::size_t at) {
  T out{};
  if (at + sizeof out <= from.size()) {
    std::memcpy(&out, from.data() + at, sizeof out);
  }
  return out;
}

/// Where the guest keeps its memory: a folder whose files may be executed.
std::string memory_folder() {
  const char* const named = std::getenv("TMPDIR");
  for (const char* const folder : {named, "/dev/shm", "/tmp"}) {
    struct statvfs about{};
    if (folder != nullptr && access(folder, W_OK) == 0 && statvfs(folder, &about) == 0 &&
        (about.f_flag & ST_NOEXEC) == 0) {
      return folder;
    }
  }
  return "/tmp";
}

/// A netlink attribute.
std::string attribute(std::uint16_t kind, std::string_view octets) {
  std::string out;
  put(out, static_cast<std::uint16_t>(4 + octets.size()));
  put(out, kind);
  out += octets;
  out.resize((out.size() + 3) / 4 * 4, '\0');
  return out;
}
template <class T>
std::string attribute_of(std::uint16_t kind, T value) {
  return attribute(kind, {reinterpret_cast<const char*>(&value), sizeof value});
}

/// A Unix socket in a folder of its own, to which a copy of the kernel connects.
class Listener {
 public:
  Listener() : folder_((std::filesystem::temp_directory_path() / "lockstep-fork-XXXXXX").string()) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    bool const made = mkdtemp(folder_.data()) != nullptr;
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    path().copy(name.sun_path, sizeof name.sun_path - 1);
    if (!made || socket_ < 0 || path().size() >= sizeof name.sun_path ||
        bind(socket_, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
        listen(socket_, 1) != 0) {
      remove();
      throw Ended("no socket can be made in " + folder_ + ": " + std::strerror(errno));
    }
  }
  ~Listener() { remove(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::string path() const { return folder_ + "/socket"; }
  /// The connection of a copy, or -1 if none comes.
  int accepted() const {
    constexpr int patience_ms = 10'000;
    pollfd entry{socket_, POLLIN, 0};
    return ::poll(&entry, 1, patience_ms) == 1 ? accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC)
                                               : -1;
  }

 private:
  void remove() const {
    close(socket_);
    std::error_code none;
    std::filesystem::remove_all(folder_, none);
  }

  std::string folder_;
  int socket_ = -1;
};

}  // namespace

Guest::Guest(const std::string& binary, std::uint64_t seed) {
  try {
    start(binary, seed);
  } catch (...) {
    close(channel_);
    throw;
  }
}

Guest::~Guest() {
  close(channel_);
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  reap();
}

void Guest::start(const std::string& binary, std::uint64_t seed) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Ended("no descriptor is left for the kernel");
  }
  // The same addresses each time.
  personality(static_cast<unsigned long>(personality(0xffffffff)) | ADDR_NO_RANDOMIZE);
  // It leaves files in its home, for a console that it does not have.
  std::string home = (std::filesystem::temp_directory_path() / "lockstep-linux-XXXXXX").string();
  if (mkdtemp(home.data()) == nullptr) {
    throw Ended("no folder can be made in " + home);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd = 0; fd < 3; ++fd) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, ends[1], channel_of_guest);
  posix_spawn_file_actions_addclosefrom_np(&actions, channel_of_guest + 1);
  std::array<std::string, 8> words{
      "linux",      "mem=256M", "time-travel=inf-cpu", "time-travel-start=1000000000000000000",
      "lockstep=3", "con=null", "con0=null",           "ssl=null"};
  std::array<std::string, 4> settings{"PATH=/usr/bin:/bin", "HOME=" + home,
                                      "LS_SEED=" + std::to_string(seed),
                                      "TMPDIR=" + memory_folder()};
  std::array<char*, 9> arguments{};
  std::array<char*, 5> environment{};
  std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
  std::ranges::transform(settings, environment.begin(),
                         [](std::string& word) { return word.data(); });
  int const error = posix_spawn(&process_, binary.c_str(), &actions, nullptr, arguments.data(),
                                environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  channel_ = ends[0];
  if (error == 0) {
    try {
      wait();
    } catch (...) {
      std::filesystem::remove_all(home);
      throw;
    }
  }
  std::error_code none;
  std::filesystem::remove_all(home, none);
  if (error != 0) {
    process_ = -1;
    throw Ended(binary + " cannot be run: " + std::strerror(error));
  }
}

void Guest::ended() {
  int status = 0;
  if (process_ <= 0 || waitpid(std::exchange(process_, -1), &status, 0) < 0) {
    throw Ended("the kernel has ended");
  }
  throw Ended("the kernel has ended: " +
              (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                   : "exit code " + std::to_string(WEXITSTATUS(status))));
}

/// The next octets; valid until the next call.
std::string_view Guest::exactly(std::size_t length) {
  if (at_ != 0 && at_ + length > read_.size()) {
    read_.erase(0, std::exchange(at_, 0));
  }
  while (read_.size() < at_ + length) {
    std::size_t const before = read_.size();
    read_.resize(before + piece_bytes);
    ssize_t const got = recv(channel_, read_.data() + before, piece_bytes, 0);
    read_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0 && errno != EINTR) {
      ended();
    }
  }
  std::string_view const out = std::string_view(read_).substr(at_, length);
  at_ += length;
  return out;
}

/// The octets of the next message, its kind and its first number; valid until the next call.
std::string_view Guest::read_message(Message& kind, std::int64_t& first) {
  std::string_view const header = exactly(header_bytes);
  auto const length = get<std::uint32_t>(header, 0);
  kind = static_cast<Message>(get<std::uint32_t>(header, 4));
  first = get<std::int64_t>(header, 16);
  now_ = get<std::uint64_t>(header, 8);
  return exactly(std::max<std::size_t>(length, header_bytes) - header_bytes);
}

/// Takes messages until the guest waits.
void Guest::wait() {
  for (;;) {
    Message kind{};
    std::int64_t first = 0;
    std::string_view const octets = read_message(kind, first);
    if (kind == Message::idle) {
      next_ = static_cast<std::uint64_t>(first);
      return;
    }
    if (kind == Message::frame) {
      sent.emplace_back(octets);
    } else {
      results_.push_back({first, std::string(octets)});
    }
  }
}

void Guest::command(Command kind, std::uint64_t at, std::initializer_list<std::int64_t> numbers,
                    std::string_view octets) {
  write_command(kind, at, numbers, octets);
  wait();
}

void Guest::write_command(Command kind, std::uint64_t at,
                          std::initializer_list<std::int64_t> numbers, std::string_view octets) {
  std::string out;
  out.reserve(header_bytes + octets.size());
  put(out, static_cast<std::uint32_t>(header_bytes + octets.size()));
  put(out, static_cast<std::uint32_t>(kind));
  put(out, at);
  for (std::int64_t const number : numbers) {
    put(out, number);
  }
  out.resize(header_bytes, '\0');
  out += octets;
  for (std::string_view left = out; !left.empty();) {
    ssize_t const done = ::send(channel_, left.data(), left.size(), MSG_NOSIGNAL);
    if (done <= 0 && errno != EINTR) {
      ended();
    }
    left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(done, 0)));
  }
}

void Guest::run(std::uint64_t until) {
  while ((now_ < until || next_ <= until) && sent.empty()) {
    command(Command::run, until);
  }
}

bool Guest::fork() {
  // Older programs cannot read settings, and share the memory of a copy with its copies.
  if (is_copy_ && call(Call::read_sysctl, {}, std::string("kernel/osrelease") + '\0').value <= 0) {
    return false;
  }
  Listener const listener;
  std::string path = listener.path();
  path += '\0';
  write_command(Command::fork, now_, {}, path);
  Message kind{};
  std::int64_t process = 0;
  read_message(kind, process);
  if (process <= 0) {
    return false;
  }
  copy_channel_ = listener.accepted();
  std::array<char, header_bytes> answer{};
  bool const alive = copy_channel_ >= 0 && recv(copy_channel_, answer.data(), answer.size(),
                                                MSG_WAITALL) == std::ssize(answer);
  copies_.push_back(static_cast<pid_t>(process));
  reap();
  if (!alive) {
    close(std::exchange(copy_channel_, -1));
    return false;
  }
  copy_ = static_cast<pid_t>(process);
  return true;
}

/// Forgets the copies that have ended. One that is a child of another process never is.
void Guest::reap() {
  std::erase_if(copies_, [](pid_t each) { return waitpid(each, nullptr, WNOHANG) != 0; });
}

void Guest::take(bool copy) {
  if (copy) {
    std::swap(channel_, copy_channel_);
    process_ = copy_;
    is_copy_ = true;
    copies_.clear();
  }
  close(std::exchange(copy_channel_, -1));
  copy_ = -1;
}

void Guest::packet(std::string_view octets) { command(Command::packet, now_, {}, octets); }

Result Guest::call(Call which, std::initializer_list<std::int64_t> numbers,
                   std::string_view octets) {
  std::array<std::int64_t, 4> all{static_cast<std::int64_t>(which)};
  std::ranges::copy(numbers, all.begin() + 1);
  command(Command::call, now_, {all[0], all[1], all[2], all[3]}, octets);
  while (results_.empty()) {  // the call itself takes time
    command(Command::run, next_);
  }
  Result out = std::move(results_.front());
  results_.clear();
  return out;
}

std::int64_t Guest::sysctl(const std::string& name, const std::string& value) {
  std::string octets = name;
  octets += '\0';
  octets += value;
  octets += '\0';
  return call(Call::sysctl, {}, octets).value;
}

std::string Guest::netlink(std::uint16_t kind, std::uint16_t flags, std::string_view body) {
  constexpr std::uint16_t request = 1, wants_ack = 4, error_message = 2;
  std::string out;
  put(out, static_cast<std::uint32_t>(16 + body.size()));
  put(out, kind);
  put(out, static_cast<std::uint16_t>(flags | request | wants_ack));
  put(out, std::uint32_t{1});
  put(out, std::uint32_t{0});
  out += body;
  Result const answer = call(Call::route, {}, out);
  auto const code = get<std::int32_t>(answer.octets, 16);
  bool const refused = get<std::uint16_t>(answer.octets, 4) == error_message && code != 0;
  if (answer.value < 0 || refused) {
    auto const error = static_cast<int>(answer.value < 0 ? -answer.value : -code);
    throw Ended(std::string("the kernel refuses a setting: ") + std::strerror(error));
  }
  return answer.octets;
}

std::string program(const std::string& library) {
  bool const newest = !library.ends_with("linux-6.1.so");
  std::string const variable = newest ? "LOCKSTEP_LINUX" : "LOCKSTEP_LINUX_6_1";
  const char* const named = std::getenv(variable.c_str());
  bool const is_named = named != nullptr && *named != '\0';
  std::string path = is_named ? named
                              : library.substr(0, library.rfind('/') + 1) + "../../linux/linux-" +
                                    (newest ? "6.12" : "6.1");
  if (access(path.c_str(), X_OK) == 0) {
    return path;
  }
  if (is_named) {
    throw std::invalid_argument(variable + ": " + path + " is no program");
  }
  throw std::invalid_argument("unsupported: there is no kernel: tools/setup --with linux" +
                              std::string(newest ? "" : "-6.1") + " builds one, or " + variable +
                              " names it");
}

std::string title_of(const std::string& binary) {
  constexpr std::string_view before = "Linux version ";
  std::ifstream file(binary, std::ios::binary);
  std::ostringstream octets;
  octets << file.rdbuf();
  std::string const all = octets.str();
  std::size_t const at = all.find(before);
  std::size_t const begin = at == std::string::npos ? all.size() : at + before.size();
  std::string const version = all.substr(begin, all.find(' ', begin) - begin);
  return version.empty() || version.size() > 32 ? "Linux" : "Linux " + version;
}

void configure(Guest& guest, const Interface& what) {
  constexpr std::uint16_t new_link = 16, get_link = 18, new_address = 20, new_route = 24;
  constexpr std::uint16_t create = 0x400;
  constexpr std::uint32_t nodad_noprefixroute = 0x02 | 0x200;
  bool const six = what.local.find(':') != std::string::npos;
  auto const family = static_cast<std::uint8_t>(six ? AF_INET6 : AF_INET);
  std::uint8_t const bits = six ? 64 : 24;
  std::string const name(interface_name);
  std::string const named = attribute(3, name + '\0');
  std::string const found = guest.netlink(get_link, 0, std::string(16, '\0') + named);
  auto const number = get<std::int32_t>(found, 16 + 4);
  for (std::string const& scope : {std::string("all"), std::string("default"), name}) {
    guest.sysctl("net/ipv6/conf/" + scope + "/accept_dad", "0");
    guest.sysctl("net/ipv6/conf/" + scope + "/router_solicitations", "0");
  }
  for (std::int32_t const each : {std::int32_t{1}, number}) {
    std::string link(4, '\0');
    put(link, each);
    put(link, std::uint32_t{1});
    put(link, std::uint32_t{1});
    guest.netlink(new_link, 0, link + (each == number ? attribute_of(4, what.mtu) : ""));
  }
  const auto octets_of = [&](const std::string& text) {
    std::string out(six ? 16 : 4, '\0');
    inet_pton(family, text.c_str(), out.data());
    return out;
  };
  std::string const own = octets_of(what.local), peer = octets_of(what.remote);
  std::string net = own.substr(0, bits / 8);
  bool const in_net = peer.starts_with(net);
  net.resize(own.size(), '\0');
  std::string address{static_cast<char>(family), static_cast<char>(bits), '\0', '\0'};
  put(address, number);
  guest.netlink(
      new_address, create,
      address + attribute(2, own) + attribute(1, own) + attribute_of(8, nodad_noprefixroute));
  constexpr std::uint16_t lock = 1, rto_min = 13, first_window = 11;
  std::string metrics = what.first_window == 0 ? "" : attribute_of(first_window, what.first_window);
  if (what.rto_min_ms != 0) {
    metrics += attribute_of(lock, std::uint32_t{1} << rto_min);
    metrics += attribute_of(rto_min, what.rto_min_ms);
  }
  const auto add_route = [&](const std::string& to, std::size_t length) {
    // The main table, by this program, for the link, a unicast route.
    std::string route{static_cast<char>(family),
                      static_cast<char>(length),
                      '\0',
                      '\0',
                      static_cast<char>(254),
                      '\3',
                      static_cast<char>(253),
                      '\1'};
    route += std::string(4, '\0') + attribute(1, to) + attribute_of(4, number);
    route += metrics.empty() ? "" : attribute(8, metrics);
    guest.netlink(new_route, create, route);
  };
  add_route(net, bits);
  if (!in_net) {
    add_route(peer, peer.size() * 8);
  }
}

}  // namespace lockstep::conformance::guest
