// The octets of a request, and the response that it should get.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/random.hpp"
#include "tools/lib/http/site.hpp"
#include "tools/lib/load/plan.hpp"
#include "tools/lib/load/reply.hpp"

namespace lockstep::load {

/// A request that waits to be written, or for its response.
struct Asked {
  Instant wanted;
  std::uint32_t item = 0;  // index in the catalogue
  std::uint32_t from = 0;  // echo: where the message begins in the pattern
  bool is_last = false;    // the last of its connection
  bool is_update = false;  // memcached: a set
};

/// The head, then a part of the pattern, then the tail.
struct Message {
  std::string_view head;
  std::uint64_t body_from = 0;
  std::uint64_t body_length = 0;
  std::string_view tail = {};
  std::uint64_t size() const { return head.size() + body_length + tail.size(); }
};

/// Draws requests and writes their messages; the same request always gives the same message.
class Composer {
 public:
  static constexpr std::uint32_t name_max = 4'000;  ///< octets of an item's name
  static constexpr std::uint32_t authority_max = 300;

  Composer(const LoadPlan& plan, const http::Site& site);

  /// How many keys must be set before any is requested; draw() returns these sets first.
  std::uint32_t to_preload() const { return to_preload_; }
  /// The next request.
  Asked draw(Instant wanted, bool is_last);
  /// The message of a request. Valid until the next call.
  Message compose(const Asked& asked, const Target& target);
  Expected expected(const Asked& asked) const;

 private:
  Protocol protocol_;
  CloseMode close_mode_;
  Bytes message_;
  std::optional<std::uint64_t> upload_;
  Catalogue catalogue_;
  std::span<const std::byte> pattern_;
  /// Where the value of a key begins in the pattern.
  std::uint32_t value_from(std::uint32_t item) const;

  Random random_;
  std::uint32_t updates_percent_;
  std::uint32_t to_preload_ = 0;
  std::uint64_t weight_ = 0;               // sum of all weights
  std::vector<std::uint64_t> cumulative_;  // running sums of the weights, if they differ
  std::array<char, name_max + authority_max + 200> text_{};
};

}  // namespace lockstep::load
