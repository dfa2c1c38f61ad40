// The descriptor table; allocates the lowest free number, as POSIX requires.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "tools/lib/sockets/socket.hpp"

namespace lockstep::tools {

enum class Opened : std::uint8_t { nothing, socket, epoll };

/// What a descriptor refers to.
struct Entry {
  Opened kind = Opened::nothing;
  Place place = nowhere;
};

/// `most` descriptors, numbered from `first`. All memory is allocated by the constructor.
class Descriptors {
 public:
  struct Range {
    int first = 3;
    Count most{1024};
  };
  explicit Descriptors(Range range)
      : range_(range), entries_(range.most.value), free_((range.most.value + 63) / 64) {
    for (std::uint32_t i = 0; i < range.most.value; ++i) {
      free_[i / 64] |= std::uint64_t{1} << (i % 64);
    }
  }

  bool full() const { return used_ == entries_.size(); }
  std::uint32_t used() const { return used_; }
  std::uint32_t most() const { return static_cast<std::uint32_t>(entries_.size()); }
  int first() const { return range_.first; }

  /// Allocates the lowest free number. There must be one.
  int take(Entry entry) {
    while (free_[lowest_] == 0) {
      ++lowest_;
    }
    auto const bit = static_cast<std::uint32_t>(std::countr_zero(free_[lowest_]));
    free_[lowest_] &= free_[lowest_] - 1;
    std::uint32_t const at = lowest_ * 64 + bit;
    entries_[at] = entry;
    ++used_;
    return range_.first + static_cast<int>(at);
  }
  void give(int descriptor) {
    auto const at = static_cast<std::uint32_t>(descriptor - range_.first);
    entries_[at] = Entry{};
    free_[at / 64] |= std::uint64_t{1} << (at % 64);
    lowest_ = at / 64 < lowest_ ? at / 64 : lowest_;
    --used_;
  }
  /// Opened::nothing if the descriptor is not open.
  Entry find(int descriptor) const {
    bool const within = descriptor >= range_.first &&
                        static_cast<std::uint32_t>(descriptor - range_.first) < entries_.size();
    return within ? entries_[static_cast<std::uint32_t>(descriptor - range_.first)] : Entry{};
  }

 private:
  Range range_;
  std::uint32_t used_ = 0;
  std::uint32_t lowest_ = 0;  // no earlier word of `free_` has a bit set
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> free_;
};

}  // namespace lockstep::tools
