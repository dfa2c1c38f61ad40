// The shard copies frames into its ring; the thread makes pcapng of them.
#include "tools/verbs/serve/capture.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tools/base/output/event_log.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/journal/mend_checksum.hpp"

namespace lockstep::tools {
namespace {

/// What precedes comment and frame in a record.
struct RecordHead {
  std::uint64_t at_ns = 0;
  std::uint64_t lost = 0;  // of the shard, so far
  std::uint16_t comment = 0;
  std::uint8_t outbound = 0;
  std::uint8_t partial = 0;
  std::uint32_t unused = 0;
};

constexpr std::size_t comment_max = 200;
constexpr auto every = std::chrono::milliseconds(20);

}  // namespace

std::string drops_text(const DropCounters& before, const DropCounters& now) {
  std::string out;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    if (std::uint64_t const count = now.of(drop) - before.of(drop); count != 0) {
      sum += count;
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, name_of(drop));
    }
  }
  return sum == 1 ? out.substr(2) : out;
}

std::string capture_name(const std::string& path, std::uint32_t number) {
  std::filesystem::path const whole(path);
  std::string const end = whole.extension() == ".pcapng" ? ".pcapng" : "";
  std::string const stem = path.substr(0, path.size() - end.size());
  return fmt::format("{}-{:05}.pcapng", stem, number);
}

std::uint32_t capture_number(std::string_view name) {
  constexpr std::string_view end = ".pcapng";
  if (!name.ends_with(end)) {
    return 0;
  }
  name.remove_suffix(end.size());
  std::size_t const before = name.find_last_not_of("0123456789");
  std::string_view const digits = name.substr(before == std::string_view::npos ? 0 : before + 1);
  std::uint32_t number = 0;
  auto const read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return read.ec == std::errc{} ? number : 0;
}

Capture::Capture(const CaptureSettings& settings, const CapturedInterface& of,
                 std::uint64_t unix_ns)
    : settings_(settings),
      interface_(of.name),
      shards_(of.shards.value),
      unix_ns_(unix_ns),
      link_(of.link) {
  std::string const first = capture_name(settings.path, 1);
  if (!settings.force && std::filesystem::exists(first)) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--pcapng: {} exists: name another file, or give --force", first));
  }
  for (std::uint32_t i = 0; i < shards_; ++i) {
    places_.push_back(std::make_unique<Place>());
  }
  if (int const error = open_next(); error != 0) {
    throw Failure(ExitCode::environment,
                  fmt::format("--pcapng: {}: {}: name a file that you may write to", first,
                              std::strerror(error)));
  }
  thread_ = std::make_unique<Background>(every, [this] { work(); });
}

Capture::~Capture() { thread_.reset(); }

std::uint64_t Capture::lost() const {
  std::uint64_t sum = unwritten_.load();
  for (auto const& each : places_) {
    sum += each->lost.load(std::memory_order_relaxed);
  }
  return sum;
}

std::string Capture::lost_text() const {
  if (lost() == 0) {
    return {};
  }
  return unwritten_ == 0
             ? fmt::format(
                   "--pcapng {}: {} frames are not in the capture: they came faster than "
                   "they could be written; choose a faster disk",
                   settings_.path, grouped(lost()))
             : fmt::format(
                   "--pcapng {}: {}: {} frames are not in the capture; free space "
                   "on the disk",
                   settings_.path, std::strerror(error_), grouped(lost()));
}

void Capture::put(ShardId shard, const Note& note, std::span<const std::byte> frame) {
  Place& place = *places_[shard.value];
  std::uint64_t const lost = place.lost.load(std::memory_order_relaxed);
  RecordHead head;
  head.at_ns = unix_ns_ + note.at.since(Instant{}).ns;
  head.lost = lost;
  head.comment = static_cast<std::uint16_t>(std::min(note.comment.size(), comment_max));
  head.outbound = note.outbound ? 1 : 0;
  head.partial = note.partial ? 1 : 0;
  std::array<std::byte, sizeof head + comment_max> first;
  std::memcpy(first.data(), &head, sizeof head);
  std::ranges::copy(std::as_bytes(std::span(note.comment).first(head.comment)),
                    first.begin() + sizeof head);
  if (!place.ring.put(std::span(first).first(sizeof head + head.comment), frame)) {
    place.lost.store(lost + 1, std::memory_order_relaxed);
  }
}

void Capture::work() {
  constexpr std::size_t pending_max = std::size_t{1} << 18;
  if (rest_ != 0 && --rest_ == 0 && !file_.is_open()) {
    leave_out_if(open_next());
  }
  std::vector<std::byte> record;
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    places_[shard]->ring.take_round(record, [&](std::span<std::byte> each) {
      write_record({shard}, each);
      if (pending_.size() >= pending_max) {
        write_out();
      }
      return true;
    });
  }
  write_out();
  tell_lost();
}

void Capture::write_record(ShardId shard, std::span<std::byte> record) {
  Place& place = *places_[shard.value];
  if (rest_ == 0 && in_file_ + pending_.size() >= settings_.file_octets) {
    write_out();
    if (rest_ == 0) {
      leave_out_if(open_next());
    }
  }
  if (rest_ != 0) {
    ++place.unwritten;
    unwritten_.fetch_add(1);
    return;
  }
  RecordHead head;
  std::memcpy(&head, record.data(), sizeof head);
  auto const frame = record.subspan(sizeof head + head.comment);
  std::string comment(reinterpret_cast<const char*>(record.data() + sizeof head), head.comment);
  std::uint64_t const before = head.lost + place.unwritten - place.told - place.telling;
  if (before != 0) {
    comment += fmt::format("{}{} frames before this one are not in this capture",
                           comment.empty() ? "" : "; ", grouped(before));
    place.telling += before;
  }
  if (head.partial != 0) {
    journal::mend_checksum(frame, link_);
  }
  writer_->packet({.interface = shard.value,
                   .at = Instant{head.at_ns},
                   .way = head.outbound != 0 ? sim::CaptureWay::outbound : sim::CaptureWay::inbound,
                   .bytes = frame,
                   .comment = comment});
  ++place.pending;
}

/// Begins the next file; the present one is complete. Returns errno, or 0.
int Capture::open_next() {
  std::uint32_t const number = number_.load() + 1;
  std::string const name = capture_name(settings_.path, number);
  int const flags = O_WRONLY | O_CREAT | O_CLOEXEC | (settings_.force ? O_TRUNC : O_EXCL);
  file_ = hw::Descriptor(open(name.c_str(), flags, 0600));
  if (!file_.is_open()) {
    return errno;
  }
  number_.store(number);
  begin_file();
  if (number > settings_.files) {
    unlink(capture_name(settings_.path, number - settings_.files).c_str());
  }
  return 0;
}

/// The blocks before the first frame.
void Capture::begin_file() {
  in_file_ = 0;
  writer_.emplace(sink_);
  for (std::uint32_t i = 0; i < shards_; ++i) {
    writer_->interface(sim::CaptureLink::ethernet,
                       shards_ == 1 ? interface_ : fmt::format("{} shard {}", interface_, i));
  }
}

/// Writes what waits. On an error the file ends after its last whole block, and goes on there
/// later: a new one for each try would replace good ones.
void Capture::write_out() {
  std::size_t done = 0;
  while (rest_ == 0 && done < pending_.size()) {
    ssize_t const written = write(file_.number(), pending_.data() + done, pending_.size() - done);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      int const error = written < 0 ? errno : EIO;
      static_cast<void>(!ftruncate(file_.number(), static_cast<off_t>(in_file_)));
      lseek(file_.number(), static_cast<off_t>(in_file_), SEEK_SET);
      leave_out_if(error);
    }
    done += static_cast<std::size_t>(std::max(written, ssize_t{0}));
  }
  if (rest_ != 0) {
    return;
  }
  failing_ = failing_ && pending_.empty();
  in_file_ += pending_.size();
  pending_.clear();
  for (auto const& each : places_) {
    frames_.fetch_add(each->pending);
    each->pending = 0;
    each->told += std::exchange(each->telling, 0);
  }
}

/// After an error drops what waits, and rests.
void Capture::leave_out_if(int error) {
  if (error == 0) {
    return;
  }
  rest_ = settings_.rest;
  error_ = error;
  pending_.clear();
  for (auto const& each : places_) {
    each->unwritten += each->pending;
    unwritten_.fetch_add(each->pending);
    each->pending = 0;
    each->telling = 0;  // the next comment says it
  }
  if (file_.is_open() && in_file_ == 0) {
    begin_file();
  }
  tell_failure(error);
}

void Capture::tell_failure(int error) {
  if (!failing_) {
    failing_ = true;
    log_event({LogLevel::warning, "capture_failed",
               fmt::format("{}: {}: frames are not captured; the program goes on, and tries again "
                           "every {:.3g} s",
                           last_name(), std::strerror(error),
                           std::chrono::duration<double>(settings_.rest * every).count())},
              {{"frames_lost", lost()}});
  }
}

void Capture::tell_lost() {
  if (!said_lost_ && lost() != unwritten_.load()) {
    said_lost_ = true;
    log_event({LogLevel::warning, "capture_lost",
               "--pcapng: frames come faster than they can be written: some are left out, and "
               "comments in the capture say how many"},
              {{"frames_lost", lost()}});
  }
}

}  // namespace lockstep::tools
