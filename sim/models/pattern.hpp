// The bytes that applications send: a function of (stream, offset), so that a reader can verify
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/units/hash.hpp"
#include "core/units/random.hpp"

namespace lockstep::sim {

// One direction of one connection as a source of bytes.
struct StreamId {
  std::uint64_t value = 0;
};

// All streams repeat one random sequence of prime length, each from a different start. So an error
// of position or of stream shows (no power of two is a multiple of the length), and writing and
// verifying are a plain copy and compare. The sequence is stored twice in a row, so that any piece
// shorter than it is contiguous.
class Pattern {
 public:
  static constexpr std::uint32_t row_bytes = 65'521;

  Pattern() : memory_(std::size_t{row_bytes} * 2) {
    Random random(0x7061'7474'6572'6e00);
    for (std::uint32_t i = 0; i < row_bytes; ++i) {
      memory_[i] = static_cast<std::byte>(random.next() >> 56);
    }
    std::memcpy(memory_.data() + row_bytes, memory_.data(), row_bytes);
  }

  // Where in the sequence a stream begins.
  static std::uint32_t shift_of(StreamId stream) {
    return static_cast<std::uint32_t>(TableHash({}).add(stream.value).finish() % row_bytes);
  }
  // Where in memory() the byte at that offset is, followed by at least row_bytes.
  static std::uint32_t place(std::uint32_t shift, std::uint64_t offset) {
    return static_cast<std::uint32_t>((offset % row_bytes + shift) % row_bytes);
  }

  // The next row_bytes bytes of the stream from `offset`.
  std::span<const std::byte> at(std::uint32_t shift, std::uint64_t offset) const {
    return std::span(memory_).subspan(place(shift, offset), row_bytes);
  }

  // Whether `read` equals the stream's bytes from `offset` on. At most row_bytes.
  bool matches(std::uint32_t shift, std::uint64_t offset, std::span<const std::byte> read) const {
    return std::memcmp(at(shift, offset).data(), read.data(), read.size()) == 0;
  }

  // The memory to bind as a region and to lend from.
  std::span<const std::byte> memory() const { return memory_; }

 private:
  std::vector<std::byte> memory_;
};

}  // namespace lockstep::sim
