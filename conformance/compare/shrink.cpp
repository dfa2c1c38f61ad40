// Makes a failing input small: removes and simplifies what the failure does not need.
#include "conformance/compare/shrink.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::conformance::compare {
namespace {

class Shrinking {
 public:
  Shrinking(const Input& failing, const std::function<bool(const Input&)>& fails,
            std::uint32_t tries_most)
      : smallest_(failing), fails_(fails), tries_left_(tries_most) {}

  Input run() {
    for (bool more = true; more;) {
      more = drop_steps();
      for (std::size_t i = 0; i < smallest_.steps.size(); ++i) {
        more |= simplify(i);
      }
      more |= change([](Input& input) { input.first = 0; });
    }
    return smallest_;
  }

 private:
  /// Keeps a change if the input still fails. False: it changed nothing, or was not kept.
  template <class Change>
  bool change(Change apply) {
    Input next = smallest_;
    apply(next);
    if (next == smallest_ || tries_left_ == 0) {
      return false;
    }
    --tries_left_;
    if (!fails_(next)) {
      return false;
    }
    smallest_ = std::move(next);
    return true;
  }

  bool drop_steps() {
    bool any = false;
    for (std::size_t i = smallest_.steps.size(); i-- > 0;) {
      any |= change([i](Input& input) {
        input.steps.erase(input.steps.begin() + static_cast<std::ptrdiff_t>(i));
      });
    }
    return any;
  }

  /// Sets a field of a step to the first of these values with which the input still fails.
  template <class Field, class Value>
  bool set(std::size_t i, Field field, std::initializer_list<Value> values) {
    for (Value const& value : values) {
      if (field(smallest_.steps[i]) == value) {
        return false;
      }
      if (change([&](Input& input) { field(input.steps[i]) = value; })) {
        return true;
      }
    }
    return false;
  }

  /// Sends less, and acknowledges as much less.
  bool send_less(std::size_t i) {
    Step const& step = smallest_.steps[i];
    bool any = false;
    for (std::uint32_t const octets : {1U, 100U, 500U, 1'000U}) {
      if (any || step.act != Act::send || octets >= step.octets) {
        break;
      }
      any = change([&](Input& input) {
        std::uint32_t const less = input.steps[i].octets - octets;
        input.steps[i].octets = octets;
        for (Step& other : input.steps) {
          other.piece.ack -= other.piece.ack > less ? less : 0;
        }
      });
    }
    return any;
  }

  bool simplify(std::size_t i) {
    bool any = set(i, [](Step& step) -> auto& { return step.after_ms; }, {0U, 10U, 100U});
    if (smallest_.steps[i].act != Act::segment) {
      any |= set(i, [](Step& step) -> auto& { return step.octets; }, {1U, 4U, 100U});
      return send_less(i) || any;
    }
    for (unsigned const bit : {0x08U, 0x20U, 0x40U, 0x80U, 0x01U}) {
      any |= change([&](Input& input) {
        auto& bits = input.steps[i].piece.flags.bits;
        bits = static_cast<std::uint8_t>(bits & ~bit);
      });
    }
    any |= change([&](Input& input) {
      Piece& piece = input.steps[i].piece;
      piece.mss = 0;
      piece.scale = -1;
      piece.sack = piece.stamped = piece.rare = false;
      piece.stamp = 0;
    });
    any |= set(i, [](Step& step) -> auto& { return step.piece.scale; }, {-1});
    any |= set(i, [](Step& step) -> auto& { return step.piece.sack; }, {false});
    any |= set(i, [](Step& step) -> auto& { return step.piece.stamped; }, {false});
    any |= set(i, [](Step& step) -> auto& { return step.piece.rare; }, {false});
    any |= set(i, [](Step& step) -> auto& { return step.piece.window; }, {std::uint16_t{65'535}});
    any |= set(i, [](Step& step) -> auto& { return step.piece.urgent; }, {std::uint16_t{0}});
    any |= set(i, [](Step& step) -> auto& { return step.piece.octets; },
               {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{4}, std::uint16_t{100}});
    any |= set(i, [](Step& step) -> auto& { return step.piece.seq; }, {0U, 1U, 2U, 100U});
    any |= set(i, [](Step& step) -> auto& { return step.piece.ack; }, {1U, 0U, 2U, 100U});
    return any;
  }

  Input smallest_;
  const std::function<bool(const Input&)>& fails_;
  std::uint32_t tries_left_;
};

}  // namespace

Input shrink_input(const Input& failing, const std::function<bool(const Input&)>& fails,
                   std::uint32_t tries_most) {
  return Shrinking(failing, fails, tries_most).run();
}

}  // namespace lockstep::conformance::compare
