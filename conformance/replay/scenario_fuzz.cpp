// Fuzzes scenario files with libFuzzer: each is read, or rejected with a one-line error.
#include <cstring>

#include "conformance/replay/scenario.hpp"
#include "tools/base/output/fuzz_file.hpp"
#include "tools/base/process/failure.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  tools::FuzzFile const file(data, size);
  try {
    static_cast<void>(conformance::load_scenario(file.path()));
  } catch (const tools::Failure& failure) {
    CHECK(failure.code() == tools::ExitCode::bad_input);
    CHECK(std::strlen(failure.what()) != 0);
  }
  return 0;
}
