// The program `lockstep_device`: serves a library, as `lockstep devices serve` does, for a wheel.
#include <cstdio>
#include <exception>
#include <string_view>

#include "conformance/devices/load.hpp"
#include "tools/base/process/failure.hpp"

namespace {

constexpr const char* help =
    "Answers the requests of tests for a device, on standard input and output\n"
    "Usage: lockstep_device LIBRARY\n"
    "Exit code 1: the device or a request is wrong; 2: the library is no device.\n"
    "Example: lockstep_device ./my_tcp.so\n";

}  // namespace

int main(int count, char** arguments) {
  const bool asked = count == 2 && std::string_view(arguments[1]) == "--help";
  if (asked || count != 2 || arguments[1][0] == '-') {
    std::fputs(help, asked ? stdout : stderr);
    return static_cast<int>(asked ? lockstep::tools::ExitCode::fine
                                  : lockstep::tools::ExitCode::bad_input);
  }
  try {
    lockstep::conformance::serve_library(arguments[1]);
  } catch (const lockstep::tools::Failure& failure) {
    std::fprintf(stderr, "lockstep_device: %s\n", failure.what());
    return static_cast<int>(failure.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep_device: %s\n", error.what());
    return static_cast<int>(lockstep::tools::ExitCode::environment);
  }
  return 0;
}
