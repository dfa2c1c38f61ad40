// libFuzzer target: any file is anonymised, or refused with one line.
#include <cstring>

#include "core/units/check.hpp"
#include "tools/base/output/fuzz_file.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/anonymise/anonymise.hpp"

namespace {

/// Counts octets and drops them.
class CountingSink final : public lockstep::sim::ByteSink {
 public:
  void put(std::span<const std::byte> bytes) override { count += bytes.size(); }
  std::uint64_t count = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::tools;
  FuzzFile const file(data, size);
  try {
    AnonymiseOptions options;
    options.capture = file.path();
    options.keep_numbers = size % 2 != 0;
    Anonymiser anonymiser(options);
    CountingSink sink;
    std::uint64_t last = 0;
    AnonymiseCounts const counts =
        anonymiser.write({}, sink, [&last](std::uint64_t before, std::uint64_t after) {
          CHECK(before > last && after <= before);
          last = before;
        });
    CHECK(counts.packets_in == anonymiser.packets());
    CHECK(counts.packets_out <= counts.packets_in);
    CHECK(sink.count > 0);
  } catch (const Failure& failure) {
    CHECK(failure.code() == ExitCode::bad_input);
    CHECK(std::strchr(failure.what(), '\n') == nullptr);
  }
  return 0;
}
