// Reads records; a length must fit into the file, a field into its record.
#include "tools/lib/journal/reader.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

#include "tools/base/process/failure.hpp"

namespace lockstep::journal {
namespace {

/// Reads numbers from the front of a record.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : left_(bytes) {}

  std::uint64_t number(std::size_t octets) {
    std::uint64_t value = 0;
    auto const bytes = take(octets);
    for (std::size_t i = bytes.size(); i != 0; --i) {
      value = value << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
    }
    return value;
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(number(4)); }
  std::span<const std::byte> take(std::size_t octets) {
    if (octets > left_.size()) {
      good_ = false;
      return {};
    }
    auto const out = left_.first(octets);
    left_ = left_.subspan(octets);
    return out;
  }
  bool good() const { return good_; }
  bool done() const { return good_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool good_ = true;
};

}  // namespace

Reader::Reader(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rb")) {
  using tools::ExitCode;
  using tools::Failure;
  if (file_ == nullptr) {
    throw Failure(ExitCode::environment, fmt::format("{}: {}: name a journal that --record wrote",
                                                     path, std::strerror(errno)));
  }
  std::string head(magic.size(), '\0');
  head.resize(std::fread(head.data(), 1, head.size(), file_.get()));
  if (head != magic) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: no journal of this version; expected a file that --record of "
                              "this program wrote",
                              path));
  }
  offset_ = magic.size();
}

bool Reader::next(Record& out) {
  std::array<std::byte, length_bytes> prefix;
  std::size_t const got = std::fread(prefix.data(), 1, prefix.size(), file_.get());
  std::uint32_t const length = got == prefix.size() ? Fields(prefix).word() : 0;
  bool const sound = length > chain_bytes && length <= record_max;
  if (!sound) {
    tail_ = got == 0 ? Tail::whole : Tail::torn;
    return false;
  }
  out.fields.resize(length);
  if (std::fread(out.fields.data(), 1, length, file_.get()) != length) {
    tail_ = Tail::torn;
    return false;
  }
  auto const body = std::span<const std::byte>(out.fields).first(length - chain_bytes);
  chain_ = chained(chain_, body);
  std::uint64_t const chain =
      Fields(std::span(out.fields).subspan(length - chain_bytes)).number(chain_bytes);
  out.edited = chain != chain_;
  chain_ = chain;  // so that one change is reported once
  ++number_;
  out.number = number_;
  out.offset = offset_;
  out.kind = static_cast<Kind>(std::to_integer<std::uint8_t>(body[0]));
  offset_ += length_bytes + length;
  out.fields.resize(length - chain_bytes);
  out.fields.erase(out.fields.begin());
  return true;
}

bool parse_turn(const Record& record, Turn& out) {
  Fields fields(record.fields);
  out.now = Instant{fields.number(8)};
  std::uint32_t const in = fields.word();
  out.in.clear();
  for (std::uint32_t i = 0; i < in && fields.good(); ++i) {
    FrameIn& frame = out.in.emplace_back();
    std::uint64_t const verdict = fields.number(1);
    frame.checksum = verdict == 1   ? Checksum::good
                     : verdict == 2 ? Checksum::bad
                                    : Checksum::unknown;
    frame.arrived = Instant{fields.number(8)};
    auto const bytes = fields.take(fields.word());
    frame.bytes.assign(bytes.begin(), bytes.end());
  }
  out.blocked = fields.number(1) != 0;
  std::uint32_t const sent = fields.word();
  out.out.clear();
  for (std::uint32_t i = 0; i < sent && fields.good(); ++i) {
    FrameOut& frame = out.out.emplace_back();
    frame.length = fields.word();
    frame.hash = fields.number(8);
  }
  return fields.done();
}

bool parse_number(const Record& record, std::uint64_t& out) {
  Fields fields(record.fields);
  out = fields.number(8);
  return fields.done();
}

}  // namespace lockstep::journal
