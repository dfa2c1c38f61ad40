// Suggestions for mistyped names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::tools {

/// " (did you mean 'NAME'?)" with the candidate nearest to `given`: the only one that it begins, or
/// the one with the fewest letters inserted, missing, wrong, or swapped with the next. Upper and
/// lower case are the same, and so are - and _; dashes in front do not count. Empty if no candidate
/// is near: more than one letter in three is wrong.
std::string suggestion(std::string_view given, const std::vector<std::string>& candidates);

}  // namespace lockstep::tools
