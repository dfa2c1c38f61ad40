// Random quantities of an application: a start, a size, a pause, the times of arrivals.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/units/random.hpp"
#include "core/units/time.hpp"

namespace lockstep::sim {

// How a quantity is drawn. fixed: it is not. listed: each value of a list is equally likely.
enum class DrawKind : std::uint8_t { fixed, uniform, exponential, pareto, listed };

// A quantity in nanoseconds or octets. Drawn with integers only: the same on every machine.
struct Draw {
  DrawKind kind = DrawKind::fixed;
  std::uint64_t least = 0;                 // uniform, pareto
  std::uint64_t mean = 0;                  // exponential
  std::uint64_t most = ~std::uint64_t{0};  // uniform, pareto: larger draws are cut to this
  std::uint32_t shape_thousandths = 0;     // pareto: 1,200 is 1.2
  std::vector<std::uint64_t> values;       // listed

  bool is_random() const { return kind != DrawKind::fixed; }
  // The next value of that stream. CHECKs that the quantity is random.
  std::uint64_t from(Random& stream) const;
};

// The times at which the connections of an application begin. regular: by `stagger`. poisson: the
// time between two of them is exponential. on_off: the same, but only while a source is on, for
// times that are exponential like those in which it is off.
enum class ArrivalKind : std::uint8_t { regular, poisson, on_off };

struct ArrivalSpec {
  ArrivalKind kind = ArrivalKind::regular;
  Duration gap;  // the mean between two arrivals
  Duration on;   // on_off: the mean times
  Duration off;
  // On for so short that an arrival would take more than 1,000 times on, in the mean.
  constexpr bool hardly_on() const {
    return kind == ArrivalKind::on_off && (on.ns == 0 || gap.ns / 1'000 > on.ns);
  }
};

// The times of arrivals, in order. A plain value.
class ArrivalProcess {
 public:
  // CHECKs that the arrivals are random.
  ArrivalProcess(const ArrivalSpec& spec, Random stream);
  // How long after the beginning of the process the next arrival is.
  Duration next();

 private:
  ArrivalSpec spec_;
  Random stream_;
  Duration at_;
  Duration left_on_;  // of the current time on
};

// What an application draws, and the stream of its own that it draws from.
struct AppDraws {
  Draw start;
  Draw bytes;
  Draw think;
  ArrivalSpec arrivals;
  Random stream{};  // the kernel forks it from the seed by the application's name
  bool any() const {
    return start.is_random() || bytes.is_random() || think.is_random() ||
           arrivals.kind != ArrivalKind::regular;
  }
};

// The stream of the n-th flow for one purpose: no flow changes what another draws.
Random stream_of_flow(const AppDraws& draws, std::string_view purpose, std::uint32_t flow);

}  // namespace lockstep::sim
