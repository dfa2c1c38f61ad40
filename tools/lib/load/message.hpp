// What a request says on the wire, and what its answer should hold.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/random.hpp"
#include "tools/lib/http/site.hpp"
#include "tools/lib/load/plan.hpp"
#include "tools/lib/load/reply.hpp"

namespace lockstep::load {

/// A request that waits for its answer, or to be written.
struct Asked {
  Instant wanted;
  std::uint32_t item = 0;  // of the catalogue
  std::uint32_t from = 0;  // echo: where in the pattern the message begins
  bool is_last = false;    // of its connection
  bool is_update = false;  // memcached: a set
};

/// First the head, then so much of the pattern, then the tail.
struct Message {
  std::string_view head;
  std::uint64_t body_from = 0;
  std::uint64_t body_length = 0;
  std::string_view tail = {};
  std::uint64_t size() const { return head.size() + body_length + tail.size(); }
};

/// Draws requests, and writes them as often as it is asked: always the same for the same one.
class Composer {
 public:
  static constexpr std::uint32_t name_max = 4'000;  ///< octets of an item's name
  static constexpr std::uint32_t authority_max = 300;

  Composer(const Plan& plan, const http::Site& site);

  /// How many keys have to be set before anything is asked for: draw() takes these first.
  std::uint32_t to_preload() const { return to_preload_; }
  /// The next thing to ask for.
  Asked draw(Instant wanted, bool is_last);
  /// Valid until the next call.
  Message compose(const Asked& asked, const Target& target);
  Expected expected(const Asked& asked) const;

 private:
  Protocol protocol_;
  CloseMode close_mode_;
  Bytes message_;
  std::optional<std::uint64_t> upload_;
  Catalogue catalogue_;
  std::span<const std::byte> pattern_;
  /// Where in the pattern the value of a key begins.
  std::uint32_t value_from(std::uint32_t item) const;

  Random random_;
  std::uint32_t updates_percent_;
  std::uint32_t to_preload_ = 0;
  std::uint64_t weight_ = 0;               // the sum of all
  std::vector<std::uint64_t> cumulative_;  // of the weights, if they differ
  std::array<char, name_max + authority_max + 200> text_{};
};

}  // namespace lockstep::load
