// What a clause says, in one sentence: to stand beside its name where somebody is accused by it.
#pragma once

#include <string_view>

namespace lockstep::conformance {

/// The summary of a requirement that a replay may name; empty for any other.
std::string_view sentence_of(std::string_view clause);

}  // namespace lockstep::conformance
