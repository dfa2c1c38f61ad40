// toml++, whose assertions about its own parser become an exception: a file must not end a program.
#pragma once

#include <stdexcept>

namespace lockstep::tools {

/// Its parser has met what it believes cannot be: a comment within a table's name, for one.
class TomlGaveUp : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn, gnu::noinline]] inline void toml_gave_up(const char* on) { throw TomlGaveUp(on); }

}  // namespace lockstep::tools

// With NDEBUG it would take what it asserts for granted.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) ((expr) ? void() : lockstep::tools::toml_gave_up(#expr))
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
