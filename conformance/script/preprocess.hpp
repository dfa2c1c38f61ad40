// The lines of a script that begin with a preprocessor word: #define, #undef, #if and their like.
#pragma once

#include <string>

#include "conformance/script/syntax.hpp"

namespace lockstep::conformance::script {

/// The text without its directives and without the branches that they leave out. All other
/// characters keep their line; those of a line keep their column unless a name in it was replaced.
/// Names that the text defines are added to `defines`, which keeps the first definition of a name.
/// Throws Failure (bad_input).
std::string preprocess(const std::string& file, const std::string& text, Defines& defines);

}  // namespace lockstep::conformance::script
