// Reads files through zlib, which passes uncompressed ones through; copies pipes to a temporary
// file.
#include "tools/base/capture/source.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

[[noreturn]] void refuse_open(const std::string& path, int error) {
  bool const missing = error == ENOENT || error == ENOTDIR;
  throw Failure(missing ? ExitCode::bad_input : ExitCode::environment,
                fmt::format("{}: cannot be opened ({}); expected a capture file: {}", path,
                            std::strerror(error),
                            missing ? "check the path" : "ask for the right to read it"));
}

[[noreturn]] void refuse_copy(const std::string& path) {
  throw Failure(ExitCode::environment,
                fmt::format("{}: cannot be copied into a temporary file ({}); expected room there: "
                            "set TMPDIR to a folder that has some, or save the capture first",
                            path, std::strerror(errno)));
}

int temporary_file(const std::string& path) {
  const char* folder = std::getenv("TMPDIR");
  std::string const where = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  int const file = open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) {
    return file;
  }
  std::string name = where + "/lockstep-XXXXXX";  // for file systems without O_TMPFILE
  int const named = mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) {
    refuse_copy(path);
  }
  unlink(name.c_str());
  return named;
}

/// Whether a file with this first octet can be pcap, pcapng or gzip. If not, its rest is not
/// needed: it may have no end.
bool may_be_capture(char first) {
  constexpr std::string_view firsts = "\x0a\xd4\xa1\x4d\x34\x1f";
  return firsts.find(first) != std::string_view::npos;
}

/// While a pipe is copied, the first SIGINT or SIGTERM ends only the capture: on a terminal, Ctrl-C
/// ends the recorder at the other end of the pipe as well, which then writes what it still has. The
/// second one has its usual effect, and so has each that is ignored or handled by the program.
class EndOfCapture {
 public:
  EndOfCapture() {
    sigset_t ours;
    sigemptyset(&ours);
    for (int const each : {SIGINT, SIGTERM}) {
      struct sigaction now{};
      if (sigaction(each, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
        sigaddset(&ours, each);
      }
    }
    signals_ = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ >= 0) {
      pthread_sigmask(SIG_BLOCK, &ours, &before_);
    }
  }
  EndOfCapture(const EndOfCapture&) = delete;
  EndOfCapture& operator=(const EndOfCapture&) = delete;
  ~EndOfCapture() { release(); }

  /// Waits until `from` has data or ends. False if a signal has ended the capture, and the recorder
  /// has had time to write the rest.
  bool wait(int from) {
    for (;;) {
      std::array<pollfd, 2> both{pollfd{from, POLLIN, 0}, pollfd{signals_, POLLIN, 0}};
      int const ready = poll(both.data(), both.size(), remaining_ms());
      if (ready < 0 && errno == EINTR) {
        continue;
      }
      signalfd_siginfo taken{};
      if (both[1].revents != 0 && read(signals_, &taken, sizeof taken) > 0) {
        until_ = Clock::now() + grace;
        release();
      } else if (both[0].revents != 0 || ready < 0) {
        return remaining_ms() != 0;
      } else if (ready == 0) {
        return false;
      }
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds grace{2};

  /// For poll(): -1 before a signal.
  int remaining_ms() const {
    if (!until_) {
      return -1;
    }
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(*until_ - Clock::now());
    return std::max(static_cast<int>(left.count()), 0);
  }

  void release() {
    if (signals_ >= 0) {
      close(signals_);
      signals_ = -1;
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
  }

  int signals_ = -1;  ///< readable when one has arrived; -1 after the first
  sigset_t before_{};
  std::optional<Clock::time_point> until_;
};

void copy(int from, int to, const std::string& path) {
  bool begins = true;
  std::array<char, 65536> buffer{};
  EndOfCapture end;
  while (end.wait(from)) {
    ssize_t const got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      refuse_open(path, errno);
    }
    if (got == 0) {
      return;
    }
    for (ssize_t done = 0; done < got;) {
      ssize_t const wrote = write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (wrote < 0) {
        refuse_copy(path);
      }
      done += wrote;
    }
    if (begins && !may_be_capture(buffer[0])) {
      return;
    }
    begins = false;
  }
}

/// Opens a new descriptor of `file`, positioned at 0.
int reopen(int file, const std::string& path) {
  int const again = open(fmt::format("/proc/self/fd/{}", file).c_str(), O_RDONLY | O_CLOEXEC);
  if (again < 0) {
    refuse_open(path, errno);
  }
  return again;
}

/// Opens `path`; an input that can be read only once is copied first.
int open_input(const std::string& path) {
  static std::map<std::string, int> copies;
  if (auto const known = copies.find(path); known != copies.end()) {
    return reopen(known->second, path);
  }
  bool const standard = path == "-";
  int const file = standard ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    refuse_open(path, errno);
  }
  struct stat what{};
  if (fstat(file, &what) != 0) {
    refuse_open(path, errno);
  }
  if (S_ISDIR(what.st_mode)) {
    close(file);
    throw Failure(
        ExitCode::bad_input,
        fmt::format("{}: is a folder; expected a capture file: name the file in it", path));
  }
  if (S_ISREG(what.st_mode) && !standard) {
    return file;
  }
  if (standard && isatty(STDIN_FILENO) != 0) {
    throw Failure(ExitCode::bad_input,
                  "-: standard input is a terminal; expected a capture: pipe one into it, as in "
                  "tcpdump -w - | lockstep ...");
  }
  int const kept = temporary_file(path);
  copy(file, kept, path);
  if (!standard) {
    close(file);
  }
  copies[path] = kept;
  return reopen(kept, path);
}

}  // namespace

ssize_t CaptureSource::read_packed(void* cookie, char* into, std::size_t bytes) {
  auto* const packed = static_cast<Packed*>(cookie);
  auto* const file = static_cast<gzFile>(packed->file);
  int const got = gzread(file, into, static_cast<unsigned>(std::min<std::size_t>(bytes, 1u << 20)));
  int error = Z_OK;
  const char* const why = gzerror(file, &error);
  if (error != Z_OK && error != Z_STREAM_END) {
    packed->damage = error == Z_BUF_ERROR ? "the gzip data is truncated"
                                          : fmt::format("the gzip data is damaged ({})", why);
  }
  return got < 0 ? 0 : got;  // damaged data ends where the damage begins
}

int CaptureSource::seek_packed(void* cookie, std::int64_t* offset, int whence) {
  auto* const file = static_cast<gzFile>(static_cast<Packed*>(cookie)->file);
  z_off_t const at = gzseek(file, static_cast<z_off_t>(*offset), whence);
  *offset = at;
  return at < 0 ? -1 : 0;
}

CaptureSource::CaptureSource(const std::string& path) {
  int const descriptor = open_input(path);
  std::array<unsigned char, 2> magic{};
  bool const packed =
      pread(descriptor, magic.data(), 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  if (!packed) {
    stream_ = fdopen(descriptor, "rb");
    return;
  }
  packed_.file = gzdopen(descriptor, "rb");
  if (packed_.file != nullptr) {
    gzbuffer(static_cast<gzFile>(packed_.file), 1u << 17);
    cookie_io_functions_t const calls{read_packed, nullptr, seek_packed, nullptr};
    stream_ = fopencookie(&packed_, "rb", calls);
  }
}

CaptureSource::~CaptureSource() {
  if (stream_ != nullptr) {
    std::fclose(stream_);
  }
  if (packed_.file != nullptr) {
    gzclose(static_cast<gzFile>(packed_.file));
  }
}

}  // namespace lockstep::tools
