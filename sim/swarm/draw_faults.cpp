// Draws faults of links and hosts, each with an end.
#include "sim/swarm/draw_parts.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint32_t percent = 10'000'000;  // in units of Probability

Active draw_active(Dice& dice) {
  Active active;
  active.from = Instant{dice.within(Duration{}, ms(dice.pick({1u, 500u, 4'000u}))).ns};
  active.until = active.from + dice.within(ms(1), ms(dice.pick({100u, 2'000u, 15'000u})));
  if (dice.percent(30)) {
    active.every = dice.pick({ms(50), ms(700), ms(3'000)});
    active.lasting = active.every / dice.pick({2u, 4u, 10u});
  }
  return active;
}

Probability draw_probability(Dice& dice) {
  return {dice.pick({percent / 10, percent, 5 * percent, 20 * percent, 60 * percent})};
}

LaneFault draw_loss(Dice& dice) {
  switch (dice.below(3)) {
    case 0:
      return Loss{draw_probability(dice)};
    case 1:
      return BurstLoss{{2 * percent}, {dice.pick({10u, 30u}) * percent}, {}, {90 * percent}};
    default: {
      Mask mask;
      std::uint32_t const lost = 1 + dice.below32(12);
      for (std::uint32_t i = 0; i < lost; ++i) {
        mask.lose(dice.below32(60));
      }
      mask.repeat = dice.percent(20);
      return mask;
    }
  }
}

LaneFault draw_change(Dice& dice, const World& world) {
  if (dice.percent(60)) {
    // Any bit, or a bit of the first 34 octets: link and IP headers.
    std::uint32_t const last = dice.percent(60) ? 0xffff'ffff : 34 * 8 - 1;
    // Or the group bit of the source address.
    constexpr std::uint32_t group_bit = 6 * 8 + 7;
    bool const group = dice.percent(20);
    return Corrupt{
        {dice.pick({1u, 5u}) * percent}, group ? group_bit : 0, group ? group_bit : last};
  }
  bool const ethernet = world.hosts.empty() || world.hosts[0].config.link == LinkType::ethernet;
  // Rarely includes the headers: then only invariants are checked.
  std::uint32_t const link = ethernet ? 14 : 0;
  return Substitute{{dice.pick({1u, 5u}) * percent}, link + (dice.percent(15) ? 20u : 40u)};
}

LaneFault draw_order(Dice& dice) {
  switch (dice.below(3)) {
    case 0:
      return Duplicate{draw_probability(dice), dice.pick({Duration{}, ms(1), ms(60), ms(3'000)})};
    case 1:
      return Reorder{draw_probability(dice), dice.pick({Duration{50'000}, ms(5), ms(400)})};
    default:
      return Delay{dice.pick({Duration{}, ms(20), ms(300)}),
                   dice.pick({Duration{}, ms(3), ms(200)}),
                   dice.percent(50),
                   {}};
  }
}

LaneFault draw_lane_fault(Dice& dice, const World& world) {
  switch (dice.below(10)) {
    case 0:
    case 1:
      return Partition{};
    case 2:
      return draw_change(dice, world);
    case 3:
    case 4:
    case 5:
    case 6:
      return draw_loss(dice);
    default:
      return draw_order(dice);
  }
}

Name with_number(std::string_view text, std::uint32_t number) {
  std::array<char, 16> letters{};
  std::uint32_t length = 0;
  for (char letter : text) {
    letters[length++] = letter;
  }
  letters[length++] = static_cast<char>('0' + number / 10 % 10);
  letters[length++] = static_cast<char>('0' + number % 10);
  return Name(std::string_view(letters.data(), length));
}

}  // namespace

void draw_lane_faults(Dice& dice, World& world) {
  std::uint32_t const lanes = dice.pick({0u, 1u, 1u, 2u, 3u, 5u});
  for (std::uint32_t i = 0; i < lanes; ++i) {
    LaneFaultSpec spec;
    spec.name = with_number("fault", i);
    spec.link = dice.below32(static_cast<std::uint32_t>(world.links.size()));
    std::uint64_t const way = dice.below(4);
    spec.forward = way != 0;
    spec.back = way != 1;
    spec.active = draw_active(dice);
    spec.fault = draw_lane_fault(dice, world);
    world.lane_faults.push_back(spec);
  }
}

void draw_faults(Dice& dice, World& world) {
  draw_lane_faults(dice, world);
  std::uint32_t const hosts = dice.pick({0u, 0u, 0u, 1u, 2u});
  for (std::uint32_t i = 0; i < hosts; ++i) {
    HostFaultSpec spec;
    spec.name = with_number("host", i);
    spec.host = {dice.below32(static_cast<std::uint32_t>(world.hosts.size()))};
    spec.active = draw_active(dice);
    spec.fault = dice.percent(50) ? HostFault{RingFull{}} : HostFault{Stall{}};
    world.host_faults.push_back(spec);
  }
}

}  // namespace lockstep::sim
