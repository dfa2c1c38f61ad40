// World files under libFuzzer: a valid file makes a kernel, any other is refused with one line.
#include <cstring>

#include "sim/kernel/world.hpp"
#include "tools/base/output/fuzz_file.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/world_file/world_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::tools;
  FuzzFile const file(data, size);
  try {
    lockstep::sim::World const world = read_world(file.path());
    CHECK(lockstep::sim::fault_of(world).none());
  } catch (const Failure& failure) {
    CHECK(failure.code() == ExitCode::bad_input);
    CHECK(std::strlen(failure.what()) != 0);
  }
  return 0;
}
