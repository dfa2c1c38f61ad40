// Assertions that are on in every build: for our own bugs, never for a peer's or an application's.
#pragma once

namespace lockstep {

// Where a CHECK failed. The strings are literals.
struct CheckSite {
  const char* condition;
  const char* file;
  int line;
};

// Called once, on the failing thread, before the program stops. The default prints the site on
// standard error. A handler may print (the simulator prints seed and instant); if it returns, the
// program traps anyway.
using CheckHandler = void (*)(const CheckSite&);

// Installs the handler for the whole process and returns the previous one. Install it before the
// first Stack is created: the handler is a plain pointer, not an atomic.
CheckHandler set_check_handler(CheckHandler handler) noexcept;

// Never returns.
[[noreturn]] void check_failed(const CheckSite& site) noexcept;

}  // namespace lockstep

// One condition each. No peer input may ever make it false (law 4).
#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) [[unlikely]] {                              \
      ::lockstep::check_failed({#condition, __FILE__, __LINE__}); \
    }                                                             \
  } while (false)
