// Rotates two pieces in memory, detects trouble by counters, and writes files.
#include "tools/lib/journal/flight_recorder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/stack/statistics.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::journal {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw tools::Failure(tools::ExitCode::bad_input, "--record-on: " + why);
}

Drop drop_named(std::string_view name) {
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    if (name_of(static_cast<Drop>(i)) == name) {
      return static_cast<Drop>(i);
    }
  }
  refuse(
      fmt::format("no drop reason is called '{}': the reasons are those of \"lost\" in the summary "
                  "(--json), like tcp_checksum",
                  name));
}

std::uint32_t word_at(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
  }
  return value;
}

}  // namespace

Troubles parse_troubles(const std::string& text) {
  Troubles out;
  std::size_t at = 0;
  while (at <= text.size()) {
    std::size_t const end = std::min(text.find(',', at), text.size());
    std::string_view const word = std::string_view(text).substr(at, end - at);
    constexpr std::string_view drop = "drop:";
    if (word == "rto") {
      out.rto = true;
    } else if (word == "reset") {
      out.reset = true;
    } else if (word.starts_with(drop)) {
      out.drops.push_back(drop_named(word.substr(drop.size())));
    } else {
      refuse(
          fmt::format("'{}' is not a known trouble: name rto, reset or drop:NAME, with "
                      "commas between them",
                      word));
    }
    at = end + 1;
  }
  return out;
}

FlightRecorder::FlightRecorder(const std::string& path, const Troubles& troubles,
                               const Stack& stack, const KeptApplication& application)
    : path_(path),
      troubles_(troubles),
      stack_(stack),
      application_(application),
      memory_(newer_.records) {
  begin_piece(Instant{});
  seen_ = troubles_so_far();
}

std::uint64_t FlightRecorder::troubles_so_far() const {
  Statistics const& statistics = stack_.statistics();
  std::uint64_t sum = 0;
  sum += troubles_.rto ? statistics.tcp.timeouts : 0;
  sum += troubles_.reset ? statistics.tcp.resets_sent + application_.resets() : 0;
  for (Drop const each : troubles_.drops) {
    sum += statistics.drops.of(each);
  }
  return sum;
}

void FlightRecorder::begin_piece(Instant now) {
  std::swap(older_, newer_);
  newer_.records.clear();
  newer_.snapshot = snapshot_fields(stack_, application_.snapshot());
  newer_.begun = now;
}

void FlightRecorder::look(Instant now) {
  std::uint64_t const sum = troubles_so_far();
  bool const writes_now = writes(now);
  if (sum != seen_ && write_at_.is_never()) {
    write_at_ = now + piece;
  }
  seen_ = sum;
  bool const full = newer_.records.size() >= piece_bytes;
  // Records of the time after a trouble stay in the piece that contains it, even if it becomes
  // longer.
  if (writes_now) {
    write_out();
    begin_piece(now);
    older_ = {};
  } else if (write_at_.is_never() && (full || now.since(newer_.begun) >= piece)) {
    begin_piece(now);
  }
}

void FlightRecorder::finish() {
  if (!write_at_.is_never()) {
    write_out();
  }
}

void FlightRecorder::write_out() {
  write_at_ = Instant::never();
  if (files_.size() == files_max) {
    return;
  }
  std::string const name = files_.empty() ? path_ : fmt::format("{}-{}", path_, files_.size() + 1);
  try {
    Writer file(name);
    application_.begin(file);
    bool const both = !older_.snapshot.empty();
    file.begin(Kind::snapshot);
    file.octets(both ? older_.snapshot : newer_.snapshot);
    file.finish();
    if (both) {
      append(file, older_.records);
    }
    append(file, newer_.records);
    file.begin(Kind::end);
    file.wide(stack_.fingerprint());
    file.finish();
    file.flush();
    note_failure(name, file.failed());
    bytes_ += file.bytes();
    files_.push_back(name);
  } catch (const tools::Failure&) {
    note_failure(name, EIO);  // a full disk, for example, must not stop the server
  }
}

void FlightRecorder::note_failure(const std::string& name, int error) {
  if (error == 0 || failed_ != 0) {
    return;
  }
  failed_ = error;
  fmt::print(stderr, "{}: {}: the seconds around an event are lost; the program goes on\n", name,
             std::strerror(error));
}

void FlightRecorder::append(Writer& to, const std::vector<std::byte>& records) const {
  for (std::size_t at = 0; at < records.size();) {
    std::size_t const length = word_at(records, at);
    at += length_bytes;
    to.begin(static_cast<Kind>(records[at]));
    to.octets(std::span(records).subspan(at + 1, length - 1));
    to.finish();
    at += length;
  }
}

std::vector<std::byte> snapshot_fields(const Stack& stack, std::span<const std::byte> application) {
  std::uint64_t const bytes = stack.snapshot_bytes();
  std::vector<std::byte> out(8 + bytes);
  for (std::size_t i = 0; i < 8; ++i) {
    out[i] = static_cast<std::byte>(bytes >> (8 * i) & 0xff);
  }
  stack.snapshot(std::span(out).subspan(8));
  out.insert(out.end(), application.begin(), application.end());
  return out;
}

bool parse_snapshot(std::span<const std::byte> fields, SnapshotParts& out) {
  if (fields.size() < 8) {
    return false;
  }
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    bytes |= std::to_integer<std::uint64_t>(fields[i]) << (8 * i);
  }
  fields = fields.subspan(8);
  if (bytes > fields.size()) {
    return false;
  }
  out.stack = fields.first(static_cast<std::size_t>(bytes));
  out.application = fields.subspan(static_cast<std::size_t>(bytes));
  return true;
}

}  // namespace lockstep::journal
