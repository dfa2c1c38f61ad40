// Formats in the shard's thread, writes in another.
#include "tools/verbs/serve/access_log.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <iterator>

#include "tools/base/output/event_log.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

/// SIGHUPs that the log of this process has not acted upon yet.
std::atomic<std::uint32_t> hangups{0};

void on_hangup(int) { hangups.fetch_add(1); }

constexpr std::size_t log_pending_max = std::size_t{1} << 16;

hw::Descriptor opened(const std::string& path) {
  return hw::Descriptor(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640));
}

/// Lines whose end is in the text.
std::uint64_t lines_in(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The request line of a request whose head was read; otherwise as it arrived, up to its end.
void append_request(std::string& line, const http::RequestReader& request) {
  std::string_view const method = request.method();
  if (method.empty() || request.target().empty()) {
    std::string_view const raw = request.beginning();
    append_escaped(line, raw.substr(0, raw.find_first_of("\r\n")));
    return;
  }
  line += method;
  line += ' ';
  append_escaped(line, request.target());
  line += request.is_http_1_0() ? " HTTP/1.0" : " HTTP/1.1";
}

}  // namespace

void append_escaped(std::string& line, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (char const letter : text) {
    auto const octet = static_cast<unsigned char>(letter);
    if (octet < 0x20 || octet >= 0x7f) {
      line += "\\x";
      line += digits[octet / 16];
      line += digits[octet % 16];
      continue;
    }
    if (letter == '"' || letter == '\\') {
      line += '\\';
    }
    line += letter;
  }
  line += text.empty() ? "-" : "";
}

std::string lost_lines_text(const std::string& path, std::uint64_t lost, int error) {
  return error == 0 ? fmt::format(
                          "--access-log {}: {} lines were lost: they came faster than they could "
                          "be written; choose a faster disk",
                          path, grouped(lost))
                    : fmt::format("--access-log {}: {}: {} lines were lost; free space on the disk",
                                  path, std::strerror(error), grouped(lost));
}

std::string access_line(const http::Answered& answer, AccessFormat format, std::uint64_t unix_ns) {
  auto const seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  constexpr std::array<const char*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::string line =
      fmt::format("{} - - [{:02}/{}/{}:{:02}:{:02}:{:02} +0000] \"", text_of(answer.client),
                  parts.tm_mday, months[static_cast<std::size_t>(parts.tm_mon)],
                  parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
  append_request(line, answer.request);
  fmt::format_to(std::back_inserter(line), "\" {} ", static_cast<int>(answer.status));
  // As other servers write a body without octets.
  line += answer.body_octets == 0 ? "-" : fmt::format("{}", answer.body_octets);
  if (format == AccessFormat::combined) {
    line += " \"";
    append_escaped(line, answer.request.referer());
    line += "\" \"";
    append_escaped(line, answer.request.product());
    line += '"';
  }
  return line += '\n';
}

AccessLog::AccessLog(std::string path, AccessFormat format, ShardCount shards)
    : path_(std::move(path)), format_(format), file_(opened(path_)) {
  if (!file_.is_open()) {
    throw Failure(ExitCode::environment,
                  fmt::format("--access-log {}: {}: name a file that you may write to", path_,
                              std::strerror(errno)));
  }
  for (std::uint32_t i = 0; i < shards.value; ++i) {
    rings_.push_back(std::make_unique<RecordRing>(buffer_octets));
  }
  thread_ = std::make_unique<Background>(std::chrono::milliseconds(100), [this] { work(); });
}

AccessLog::~AccessLog() { finish(); }

void AccessLog::finish() {
  if (thread_ == nullptr) {
    return;
  }
  thread_.reset();
  lose(lines_in(pending_));
  pending_.clear();
  std::vector<std::byte> record;
  for (auto const& ring : rings_) {
    for (; ring->look(record); ring->drop(record)) {
      lose(1);
    }
  }
}

void AccessLog::put(ShardId shard, std::string_view line) {
  if (!rings_[shard.value]->put(std::as_bytes(std::span(line)), {})) {
    lose(1);
  }
}

void AccessLog::heed_hangup() {
  struct sigaction action{};
  action.sa_handler = on_hangup;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGHUP, &action, nullptr);
}

void AccessLog::work() {
  std::uint32_t const told = hangups.exchange(0);
  if (reopen_.exchange(false) || told != 0) {
    // What waits belongs to the old file.
    flush();
    open_anew();
  }
  std::vector<std::byte> record;
  bool more = flush();
  for (auto const& ring : rings_) {
    if (more) {
      ring->take_round(record, [&](std::span<const std::byte> each) {
        pending_.append(reinterpret_cast<const char*>(each.data()), each.size());
        more = pending_.size() < log_pending_max || flush();
        return more;
      });
    }
  }
  if (more) {
    flush();
  }
}

void AccessLog::open_anew() {
  hw::Descriptor fresh = opened(path_);
  if (!fresh.is_open()) {
    log_event({LogLevel::warning, "access_log_not_reopened",
               fmt::format("{}: {}: the access log goes on in the old file; mend it and send "
                           "SIGHUP again",
                           path_, std::strerror(errno))},
              {{"file", path_}});
    return;
  }
  file_ = std::move(fresh);
  log_event({LogLevel::info, "access_log_reopened", path_ + ": opened anew"}, {{"file", path_}});
}

bool AccessLog::flush() {
  while (!pending_.empty()) {
    ssize_t const written = write(file_.number(), pending_.data(), pending_.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      fail(written < 0 ? errno : EIO);
      return false;
    }
    lines_.fetch_add(lines_in({pending_.data(), static_cast<std::size_t>(written)}));
    pending_.erase(0, static_cast<std::size_t>(written));
    error_.store(0);
  }
  return true;
}

void AccessLog::lose(std::uint64_t lines) {
  if (int const error = error_.load(); error != 0 && lines != 0) {
    lost_to_.store(error);
  }
  lost_.fetch_add(lines);
}

void AccessLog::fail(int error) {
  if (error_.exchange(error) == 0) {
    log_event({LogLevel::warning, "access_log_failed",
               fmt::format("{}: {}: lines wait in memory, and are lost if it does not last; free "
                           "space on the disk",
                           path_, std::strerror(error))},
              {{"file", path_}});
  }
}

}  // namespace lockstep::tools
