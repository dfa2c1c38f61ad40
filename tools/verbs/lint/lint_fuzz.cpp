// libFuzzer target: lint judges any file or rejects it with a one-line message.
#include <cstring>

#include "tools/base/output/fuzz_file.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/lint/report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::tools;
  FuzzFile const file(data, size);
  try {
    LintOptions options;
    options.capture = file.path();
    options.whole = size % 2 != 0;
    Linted const linted = lint(options);
    CHECK(linted.without_place() <= linted.beyond);
    CHECK(json_of(linted, "fuzz")["findings"].size() == linted.violations.size());
    std::uint64_t last = 0;
    for (const auto& violation : linted.violations) {
      CHECK(violation.packet >= last && violation.packet <= linted.packets);
      last = violation.packet;
    }
  } catch (const Failure& failure) {
    CHECK(failure.code() == ExitCode::bad_input);
    CHECK(std::strchr(failure.what(), '\n') == nullptr);
  }
  return 0;
}
