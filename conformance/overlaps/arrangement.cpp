// All ways in which a few chunks of octets can lie over and beside each other.
#include "conformance/overlaps/arrangement.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/units/check.hpp"

namespace lockstep::conformance {
namespace {

/// Walks over the positions from left to right. At each, some chunks begin and some end.
class Walk {
 public:
  explicit Walk(std::uint32_t chunks) : chunks_(chunks), ends_passed_(chunks, 0) {}

  std::vector<Arrangement> all() {
    step(0);
    return std::move(out_);
  }

 private:
  void step(std::uint8_t position) {
    if (std::ranges::all_of(ends_passed_, [](int passed) { return passed == 2; })) {
      out_.push_back(chunks_);
      return;
    }
    for (std::uint32_t chosen = 1; chosen < 1U << chunks_.size(); ++chosen) {
      if (move(chosen, position)) {
        step(static_cast<std::uint8_t>(position + 1));
        undo(chosen);
      }
    }
  }

  /// The chosen chunks begin or end here. False, and nothing is changed: one has ended before.
  bool move(std::uint32_t chosen, std::uint8_t position) {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      if ((chosen >> i & 1) != 0 && ends_passed_[i] == 2) {
        return false;
      }
    }
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      if ((chosen >> i & 1) != 0) {
        (ends_passed_[i]++ == 0 ? chunks_[i].begin : chunks_[i].end) = position;
      }
    }
    return true;
  }

  void undo(std::uint32_t chosen) {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      ends_passed_[i] -= static_cast<int>(chosen >> i & 1);
    }
  }

  Arrangement chunks_;
  std::vector<int> ends_passed_;  ///< of each chunk: 0 to 2
  std::vector<Arrangement> out_;
};

/// Whether `is` holds for a pair that shares a unit.
template <typename Is>
bool any_overlap(const Arrangement& arrangement, Is is) {
  for (std::size_t a = 0; a < arrangement.size(); ++a) {
    for (std::size_t b = a + 1; b < arrangement.size(); ++b) {
      Chunk const &one = arrangement[a], &other = arrangement[b];
      if (one.begin < other.end && other.begin < one.end && is(one, other)) {
        return true;
      }
    }
  }
  return false;
}

void write(std::string& into, const Arrangement& arrangement, std::size_t chunk) {
  for (std::size_t at = arrangement[chunk].begin; at < arrangement[chunk].end; ++at) {
    into[at] = static_cast<char>('A' + chunk);
  }
}

}  // namespace

std::vector<Arrangement> arrangements(std::uint32_t chunks) {
  CHECK(chunks >= 1 && chunks <= arranged_max);
  return Walk(chunks).all();
}

std::uint8_t length_of(const Arrangement& arrangement) {
  std::uint8_t out = 0;
  for (Chunk const& chunk : arrangement) {
    out = std::max(out, chunk.end);
  }
  return out;
}

bool overlaps(const Arrangement& arrangement) {
  return any_overlap(arrangement, [](const Chunk&, const Chunk&) { return true; });
}

bool overlaps_partly(const Arrangement& arrangement) {
  return any_overlap(arrangement, [](const Chunk& a, const Chunk& b) { return !(a == b); });
}

std::string first_wins(const Arrangement& arrangement) {
  std::string out(length_of(arrangement), no_chunk);
  for (std::size_t i = arrangement.size(); i-- > 0;) {
    write(out, arrangement, i);
  }
  return out;
}

std::string last_wins(const Arrangement& arrangement) {
  std::string out(length_of(arrangement), no_chunk);
  for (std::size_t i = 0; i < arrangement.size(); ++i) {
    write(out, arrangement, i);
  }
  return out;
}

std::string text_of(const Arrangement& arrangement) {
  std::string out;
  for (std::size_t i = 0; i < arrangement.size(); ++i) {
    out += fmt::format("{}{} {}-{}", i == 0 ? "" : ", ", static_cast<char>('A' + i),
                       arrangement[i].begin, arrangement[i].end);
  }
  return out;
}

}  // namespace lockstep::conformance
