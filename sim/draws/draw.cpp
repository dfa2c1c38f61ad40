// Draws by inversion: -ln(u) for the exponential distribution, u^(-1/shape) for Pareto's.
#include "sim/draws/draw.hpp"

#include <algorithm>
#include <array>

#include "core/units/check.hpp"
#include "sim/draws/fixed_point.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint64_t draw_most = ~std::uint64_t{0};

// -log2 of a number that is uniform in (0, 1].
Fixed32 surprise(Random& stream) {
  std::uint64_t const drawn = stream.next();
  constexpr Fixed32 all{std::uint64_t{64} << 32};
  return {all.value - log2_of(drawn == 0 ? 1 : drawn).value};
}

std::uint64_t exponential(Random& stream, std::uint64_t mean) {
  return scaled(mean, {scaled(surprise(stream).value, ln_of_two)});
}

std::uint64_t pareto(Random& stream, const Draw& draw) {
  CHECK(draw.shape_thousandths != 0);
  std::uint64_t const exponent = surprise(stream).value * 1'000 / draw.shape_thousandths;
  return std::min(scaled(draw.least, power_of_two({exponent})), draw.most);
}

Duration sum_of(Duration a, Duration b) {
  return {a.ns > draw_most / 2 - std::min(b.ns, draw_most / 2) ? draw_most / 2 : a.ns + b.ns};
}

}  // namespace

std::uint64_t Draw::from(Random& stream) const {
  switch (kind) {
    case DrawKind::fixed:
      break;
    case DrawKind::uniform:
      return stream.within({least, most});
    case DrawKind::exponential:
      return exponential(stream, mean);
    case DrawKind::pareto:
      return pareto(stream, *this);
    case DrawKind::listed:
      return values[static_cast<std::size_t>(stream.below(values.size()))];
  }
  CHECK(kind != DrawKind::fixed);
  return 0;
}

ArrivalProcess::ArrivalProcess(const ArrivalSpec& spec, Random stream)
    : spec_(spec), stream_(stream) {
  CHECK(spec.kind != ArrivalKind::regular);
  CHECK(!spec.hardly_on());
  if (spec.kind == ArrivalKind::on_off) {
    left_on_ = {exponential(stream_, spec.on.ns)};
  }
}

Duration ArrivalProcess::next() {
  Duration gap{exponential(stream_, spec_.gap.ns)};
  // Each time off puts the arrival off, in the mean gap / on times.
  while (spec_.kind == ArrivalKind::on_off && gap > left_on_) {
    gap = {gap.ns - left_on_.ns};
    at_ = sum_of(at_, sum_of(left_on_, {exponential(stream_, spec_.off.ns)}));
    left_on_ = {exponential(stream_, spec_.on.ns)};
  }
  if (spec_.kind == ArrivalKind::on_off) {
    left_on_ = {left_on_.ns - gap.ns};
  }
  at_ = sum_of(at_, gap);
  return at_;
}

Random stream_of_flow(const AppDraws& draws, std::string_view purpose, std::uint32_t flow) {
  std::array<char, 4> number{};
  for (std::uint32_t i = 0; i < number.size(); ++i) {
    number[i] = static_cast<char>(flow >> (8 * i) & 0xff);
  }
  return draws.stream.fork(purpose).fork(std::string_view(number.data(), number.size()));
}

}  // namespace lockstep::sim
