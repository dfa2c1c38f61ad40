// Grows inputs from seeds: a handshake, then segments and calls that mostly make sense.
#include <fmt/core.h>

#include "conformance/compare/input.hpp"
#include "sim/swarm/dice.hpp"

namespace lockstep::conformance::compare {
namespace {

namespace flag = wire::flag;

constexpr wire::Flags odd_flags[] = {
    flag::none,
    flag::fin,
    flag::psh,
    flag::urg,
    flag::syn,
    flag::syn | flag::ack,
    flag::syn | flag::fin,
    flag::rst,
    flag::rst | flag::ack,
    flag::ack,
    flag::ack | flag::psh,
    flag::ack | flag::fin,
    flag::ack | flag::fin | flag::psh,
    flag::ack | flag::urg,
};

/// Draws one input. It follows the connection roughly, so that most numbers are near the edges of
/// what the device expects.
class Grower {
 public:
  explicit Grower(std::uint64_t seed) : dice_(Random(seed).fork("compare")) {}

  Input grow() {
    std::uint32_t const kind = dice_.below32(100);
    input_.opening = kind < 60 ? Opening::listens : kind < 92 ? Opening::connects : Opening::closed;
    if (dice_.percent(15)) {
      input_.first = dice_.pick({0xffff'fff0U, 0x7fff'fff0U, 0xffff'0000U});
    }
    bool const opens = input_.opening != Opening::closed && dice_.percent(88);
    if (opens) {
      open();
    }
    std::uint32_t const count = 1 + dice_.below32(opens ? 7 : 4);
    for (std::uint32_t i = 0; i < count; ++i) {
      opens ? step() : odd();
    }
    return input_;
  }

 private:
  void add(Act act, std::uint32_t octets, const Piece& piece = {}) {
    std::uint32_t const after = dice_.percent(70) ? dice_.pick({0U, 10U, 10U, 100U})
                                                  : dice_.pick({300U, 600U, 1'500U, 4'000U});
    input_.steps.push_back({act, after, octets, piece});
  }
  void put(const Piece& piece) { add(Act::segment, 0, piece); }

  void draw_options(Piece& syn) {
    syn.mss = dice_.percent(75)
                  ? dice_.pick({std::uint16_t{1'460}, std::uint16_t{1'000}, std::uint16_t{536}})
                  : std::uint16_t{0};
    syn.scale = dice_.percent(25) ? static_cast<int>(dice_.below32(9)) : -1;
    syn.sack = dice_.percent(25);
    syn.stamped = stamped_ = dice_.percent(15);
    syn.stamp = stamp_;
    syn.rare = dice_.percent(5);
  }

  /// The handshake, at times with something odd inside it.
  void open() {
    bool const listens = input_.opening == Opening::listens;
    if (!listens && dice_.percent(25)) {
      odd();
    }
    Piece syn;
    syn.flags = listens || dice_.percent(12) ? flag::syn : flag::syn | flag::ack;
    syn.ack = 1;
    draw_options(syn);
    put(syn);
    bool const both = syn.flags == flag::syn && !listens;
    if ((listens || both) && dice_.percent(20)) {
      dice_.percent(50) ? odd() : data();
    }
    if (dice_.percent(4)) {
      finish();
    }
    if (listens || both) {
      Piece ack = plain(flag::ack);
      ack.seq = ack.ack = 1;
      put(ack);
    }
    next_ = 1;
  }

  Piece plain(wire::Flags flags) {
    Piece out;
    out.flags = flags;
    out.seq = next_;
    out.ack = acked_;
    out.window = window_;
    out.stamped = stamped_;
    out.stamp = ++stamp_;
    return out;
  }

  std::uint32_t number() {
    std::uint32_t const near = dice_.pick({0U, 1U, 2U, 3U, 10U, 100U, 1'000U});
    return dice_.percent(50) ? near : 0 - near;
  }
  /// Around what the device expects next, or around the end of its window.
  std::uint32_t some_seq() {
    switch (dice_.below32(6)) {
      case 0:
        return next_ + number();
      case 1:
        return 1 + 65'535 + number();
      case 2:
        return next_ + dice_.pick({1u << 30, 3u << 29, 0 - (1u << 30), 70'000u, 200'000u});
      case 3:
        return 0;
      default:
        return next_;
    }
  }
  std::uint32_t some_ack() {
    switch (dice_.below32(6)) {
      case 0:
        return 1 + sent_ + number();
      case 1:
        return 1 + sent_ + dice_.pick({70'000u, 1u << 30, 3u << 29, 0 - (1u << 30)});
      case 2:
        return 0;
      case 3:
        return 1;
      default:
        return 1 + sent_ + (finished_ ? 1 : 0);
    }
  }
  std::uint16_t some_octets() {
    return dice_.pick({std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{4}, std::uint16_t{100},
                       std::uint16_t{500}, std::uint16_t{1'000}});
  }

  void odd() {
    Piece out = plain(odd_flags[dice_.below(std::size(odd_flags))]);
    out.seq = some_seq();
    out.ack = some_ack();
    out.octets = dice_.percent(40) ? some_octets() : std::uint16_t{0};
    if (out.flags.urg()) {
      out.urgent = static_cast<std::uint16_t>(1 + dice_.below32(10));
    }
    if (dice_.percent(10)) {
      out.window = dice_.pick({std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{1'000}});
    }
    if (dice_.percent(8)) {
      out.stamped = !out.stamped;
    } else if (out.stamped && dice_.percent(20)) {
      out.stamp -= dice_.pick({2u, 1'000u, 3u << 29});
    }
    out.rare = dice_.percent(3);
    if (out.flags.syn() && dice_.percent(50)) {
      out.mss = 1'000;
    }
    if (input_.opening != Opening::connects) {
      out.aim =
          dice_.percent(90) ? Aim::connection : dice_.pick({Aim::other_peer, Aim::closed_port});
    }
    put(out);
  }

  void data() {
    Piece out = plain(flag::ack | flag::psh);
    out.octets = dice_.pick({std::uint16_t{1}, std::uint16_t{100}, std::uint16_t{1'000}});
    std::uint32_t const how = dice_.below32(10);
    if (how < 5) {
      next_ += out.octets;
    } else if (how < 7) {
      out.seq += dice_.pick({1U, 100U, 1'000U});  // above a gap
    } else if (how < 9) {
      out.seq -= dice_.pick({1U, 50U, 100U});  // again, at least in part
    }
    if (dice_.percent(8)) {
      out.flags |= flag::fin;
    }
    if (dice_.percent(5)) {
      out.flags |= flag::urg;
      out.urgent = out.octets;
    }
    put(out);
  }

  void acknowledge() {
    if (dice_.percent(85)) {
      acked_ = 1 + (dice_.percent(80) ? sent_ : dice_.below32(sent_ + 1)) + (finished_ ? 1 : 0);
    }
    if (dice_.percent(20)) {
      window_ = dice_.pick({std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{100},
                            std::uint16_t{1'000}, std::uint16_t{65'535}});
    }
    put(plain(flag::ack));
  }

  void fin() {
    put(plain(flag::fin | flag::ack));
    next_ += dice_.percent(80) ? 1 : 0;
  }

  void send() {
    std::uint32_t const octets = dice_.pick({1U, 100U, 500U, 1'000U, 3'000U});
    sent_ += finished_ ? 0 : octets;
    add(Act::send, octets);
  }

  void finish() {
    finished_ = true;
    add(dice_.percent(70) ? Act::finish : Act::close, 0);
  }

  void step() {
    std::uint32_t const which = dice_.below32(100);
    if (which < 30) {
      odd();
    } else if (which < 52) {
      data();
    } else if (which < 66) {
      acknowledge();
    } else if (which < 72) {
      fin();
    } else if (which < 84) {
      send();
    } else if (which < 92) {
      add(Act::receive, dice_.pick({10U, 1'000U, 65'536U}));
    } else if (which < 97) {
      finish();
    } else {
      add(Act::wait, 0);
    }
  }

  sim::Dice dice_;
  Input input_;
  std::uint32_t next_ = 0, acked_ = 1, sent_ = 0, stamp_ = 1'000;
  std::uint16_t window_ = 65'535;
  bool finished_ = false, stamped_ = false;
};

std::string text_of(const Piece& piece) {
  std::string out;
  constexpr std::string_view letters = "FSRPAUEW";
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if ((piece.flags.bits >> i & 1) != 0) {
      out += letters[i];
    }
  }
  out = fmt::format("{} {}:{}({})", out.empty() ? "-" : out, piece.seq, piece.seq + piece.octets,
                    piece.octets);
  if (piece.flags.ack()) {
    out += fmt::format(" ack {}", piece.ack);
  }
  constexpr std::string_view aims[] = {"", " from another port", " to a closed port"};
  return out + fmt::format(" win {}{}", piece.window, aims[static_cast<std::size_t>(piece.aim)]);
}

}  // namespace

Input draw_input(std::uint64_t seed) { return Grower(seed).grow(); }

std::string text_of(const Input& input) {
  constexpr std::string_view openings[] = {"listens", "connects", "has no connection"};
  constexpr std::string_view acts[] = {"", "send", "receive", "finish", "close", "wait"};
  std::string out =
      fmt::format("the device {}\n", openings[static_cast<std::size_t>(input.opening)]);
  for (Step const& step : input.steps) {
    out += fmt::format("+{} ms ", step.after_ms);
    out += step.act == Act::segment
               ? text_of(step.piece)
               : fmt::format("{} {}", acts[static_cast<std::size_t>(step.act)], step.octets);
    out += '\n';
  }
  return out;
}

}  // namespace lockstep::conformance::compare
