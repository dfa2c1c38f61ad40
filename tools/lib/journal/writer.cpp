// Little-endian fields, the chain hash, and write(2).
#include "tools/lib/journal/writer.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/units/check.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::journal {

Writer::Writer(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::path const folder = fs::path(path).parent_path(); !folder.empty()) {
    fs::create_directories(folder, error);
  }
  is_new_ = !fs::exists(path, error);
  // An existing file is kept until there is a record to replace it.
  file_ = hw::Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file_.is_open()) {
    throw tools::Failure(
        tools::ExitCode::environment,
        fmt::format("{}: {}: name a file that can be written", path, std::strerror(errno)));
  }
  record_.reserve(buffer_bytes);
  buffer_.reserve(buffer_bytes);
  auto const head = std::as_bytes(std::span(magic));
  buffer_.insert(buffer_.end(), head.begin(), head.end());
}

Writer::~Writer() {
  if (has_record_) {
    flush();
  } else if (is_new_ && file_.is_open()) {
    unlink(path_.c_str());
  }
}

void Writer::begin(Kind kind) {
  CHECK(record_.empty());
  octet(static_cast<std::uint8_t>(kind));
}

void Writer::word(std::uint32_t value) {
  for (std::uint32_t shift = 0; shift < 32; shift += 8) {
    octet(static_cast<std::uint8_t>(value >> shift & 0xff));
  }
}

void Writer::wide(std::uint64_t value) {
  word(static_cast<std::uint32_t>(value & 0xffff'ffff));
  word(static_cast<std::uint32_t>(value >> 32));
}

void Writer::finish() {
  CHECK(!record_.empty());
  if (memory_ != nullptr) {
    put_length(*memory_);
    memory_->insert(memory_->end(), record_.begin(), record_.end());
    record_.clear();
    return;
  }
  if (!has_record_) {
    has_record_ = true;
    // fails on a device or a pipe, which cannot be truncated
    static_cast<void>(!ftruncate(file_.number(), 0));
  }
  chain_ = chained(chain_, record_);
  wide(chain_);
  CHECK(record_.size() <= record_max);
  if (buffer_.size() + length_bytes + record_.size() > buffer_bytes) {
    flush();
  }
  put_length(buffer_);
  buffer_.insert(buffer_.end(), record_.begin(), record_.end());
  record_.clear();
}

void Writer::put_length(std::vector<std::byte>& to) const {
  for (std::uint32_t shift = 0; shift < 32; shift += 8) {
    to.push_back(static_cast<std::byte>(record_.size() >> shift & 0xff));
  }
}

void Writer::flush() {
  if (!has_record_) {
    return;
  }
  std::size_t done = 0;
  bool const worked = failed_ == 0;
  while (done < buffer_.size() && failed_ == 0) {
    ssize_t const put = write(file_.number(), buffer_.data() + done, buffer_.size() - done);
    if (put < 0 && errno != EINTR) {
      failed_ = errno;
    }
    done += put < 0 ? 0 : static_cast<std::size_t>(put);
  }
  bytes_ += done;
  if (worked && failed_ != 0 && tell_) {
    tell_(*this);
  }
  buffer_.clear();
}

}  // namespace lockstep::journal
