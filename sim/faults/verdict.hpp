// The verdict of a fault rule on one frame, and when a rule is active.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/time.hpp"
#include "sim/bus/link_drop.hpp"

namespace lockstep::sim {

// pass: nothing happens. drop: the frame is dropped for `reason`. deliver: it arrives later by
// `delay`; with `twice`, a copy does so in addition. replace: its bytes were changed in place.
enum class Act : std::uint8_t { pass, drop, deliver, replace };

struct Verdict {
  Act act = Act::pass;
  LinkDrop reason = LinkDrop::none;
  bool twice = false;
  Duration delay;

  static constexpr Verdict pass() { return {}; }
  static constexpr Verdict drop(LinkDrop reason) { return {Act::drop, reason, false, {}}; }
  static constexpr Verdict deliver(Duration delay) {
    return {Act::deliver, LinkDrop::none, false, delay};
  }
  static constexpr Verdict copy(Duration delay) {
    return {Act::deliver, LinkDrop::none, true, delay};
  }
  static constexpr Verdict replace() { return {Act::replace, LinkDrop::none, false, {}}; }
};

// A frame as a rule sees it: its bytes, and the instant at which its last bit was sent.
struct Passing {
  Instant at;
  std::span<std::byte> frame;
};

// When a rule is active: from `from` until `until`; with `every`, only for `lasting` at the start
// of each period.
struct Active {
  Instant from{0};
  Instant until = Instant::never();
  Duration every;
  Duration lasting;

  constexpr bool at(Instant now) const {
    if (now < from || now >= until) {
      return false;
    }
    return every.ns == 0 || now.since(from).ns % every.ns < lasting.ns;
  }

  // Given that it is active at `now`, the first instant at which it no longer is; never if it does
  // not end.
  constexpr Instant end_after(Instant now) const {
    if (every.ns == 0 || lasting >= every) {
      return until;
    }
    Instant const begun = now - Duration{now.since(from).ns % every.ns};
    return earlier(begun + lasting, until);
  }
};

}  // namespace lockstep::sim
