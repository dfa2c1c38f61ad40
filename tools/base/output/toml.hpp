// toml++ with its parser's assertions turned into an exception, so that no file can end the
// program.
#pragma once

#include <stdexcept>

namespace lockstep::tools {

/// An assertion of the parser failed; a comment within a table's name causes that, for example.
class TomlGaveUp : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn, gnu::noinline]] inline void toml_gave_up(const char* on) { throw TomlGaveUp(on); }

}  // namespace lockstep::tools

// With NDEBUG the parser would not check its assertions.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) ((expr) ? void() : lockstep::tools::toml_gave_up(#expr))
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
