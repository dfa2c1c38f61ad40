// Assertions over what TCP_INFO gives: comparisons and arithmetic on whole numbers.
#pragma once

#include <string>
#include <vector>

#include "conformance/script/syntax.hpp"
#include "tools/lib/sockets/sockets.h"

namespace lockstep::conformance::script {

/// One assert: what it says, and what it computes, in the order of a stack machine.
struct Assertion {
  Place place;
  std::string text;
  struct Step {
    enum class Kind : std::uint8_t { number, field, apply };
    Kind kind = Kind::number;
    std::int64_t number = 0;
    std::string name;  ///< of a field of tcp_info, or the operator
  };
  std::vector<Step> steps;
};

/// Reads the code of an event. Throws Failure (bad_input) for what is no assertion.
std::vector<Assertion> parse_code(const Script& script, const Event& event);
/// Whether it holds, and the fields that it looked at with their values: "tcpi_state = 1". What
/// cannot be computed, such as a division by zero, holds not; `seen` says why.
bool holds(const Assertion& assertion, const lockstep_tcp_info& info, std::string& seen);

}  // namespace lockstep::conformance::script
