// Assertions about the fields of TCP_INFO: comparisons and integer arithmetic.
#pragma once

#include <string>
#include <vector>

#include "conformance/script/syntax.hpp"
#include "tools/lib/sockets/sockets.h"

namespace lockstep::conformance::script {

/// One assert statement: its text, and its expression as instructions of a stack machine.
struct Assertion {
  Place place;
  std::string text;
  struct Step {
    enum class Kind : std::uint8_t { number, field, apply, keep };
    Kind kind = Kind::number;  ///< keep: as apply, and the second operand stays
    std::int64_t number = 0;
    std::string name;  ///< of a tcp_info field, or the operator
  };
  std::vector<Step> steps;
};

/// Parses the code of an event. Throws Failure (bad_input) if it is not an assertion. What is only
/// printed becomes a note.
std::vector<Assertion> parse_code(const Script& script, const Event& event,
                                  std::vector<Note>* notes = nullptr);
/// Whether the assertion holds; sets `seen` to the fields used and their values, as in
/// "tcpi_state = 1". An expression that cannot be evaluated, such as a division by zero, does not
/// hold; `seen` then gives the reason.
bool holds(const Assertion& assertion, const lockstep_tcp_info& info, std::string& seen);

}  // namespace lockstep::conformance::script
