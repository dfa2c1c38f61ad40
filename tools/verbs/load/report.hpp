// The result of a load as a summary with a histogram and as JSON, and the limits checked against
// it.
#pragma once

#include <string>
#include <vector>

#include "core/units/time.hpp"
#include "tools/lib/load/client.hpp"

namespace lockstep::tools {

/// What was run, and its result.
struct LoadResult {
  std::string workload;  ///< empty: free parameters
  std::string where;     ///< "on lock0", "in the world two_hosts, seed 1"
  load::LoadPlan plan;
  load::Counters counters;  ///< all that was counted after the warm-up
  load::Counters in_time;   ///< the part of it that counts for rates
  Duration measured;
  load::Times times;
};

std::string load_text(const LoadResult& result);
/// The JSON that report.schema.json describes. `more` is a JSON object with further members, or
/// empty.
std::string load_json(const LoadResult& result, const std::string& more = {});

/// A limit such as "p99>2ms", "errors>0", "requests/s<1000", "goodput<1Mbit/s".
class Limit {
 public:
  /// Throws Failure (bad input).
  explicit Limit(const std::string& text);
  /// A message with the measured value if the limit is exceeded; else empty.
  std::string broken_by(const LoadResult& result) const;

 private:
  enum class What : unsigned char {
    latency_share,
    latency_most,
    latency_mean,
    errors,
    rate,
    goodput
  };
  std::uint64_t value_in(const LoadResult& result) const;
  std::string text_of_value(std::uint64_t value) const;

  std::string text_;
  What what_ = What::errors;
  load::Share share_;
  bool is_above_ = true;
  std::uint64_t bound_ = 0;
};

}  // namespace lockstep::tools
