// Fuzzes the script parser: it must accept any text or refuse it with its place in one line.
#include <cstring>
#include <string>

#include "conformance/script/assertion.hpp"
#include "conformance/script/settings.hpp"
#include "core/units/check.hpp"
#include "tools/base/process/failure.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::conformance::script;
  using lockstep::tools::ExitCode;
  using lockstep::tools::Failure;
  std::string const text(reinterpret_cast<const char*>(data), size);
  try {
    Script const script = parse("fuzz", text, {});
    Plan const plan = plan_of(script, {});
    CHECK(lockstep::fault_of(plan.config).empty());
    CHECK(plan.first_event <= script.events.size());
    for (Event const& event : script.events) {
      CHECK(event.place.line >= 1);
      if (event.kind == Event::Kind::code) {
        for (Assertion const& one : parse_code(script, event)) {
          std::string seen;
          holds(one, {}, seen);
        }
      }
    }
  } catch (const Failure& failure) {
    CHECK(failure.code() == ExitCode::bad_input);
    CHECK(std::strncmp(failure.what(), "fuzz:", 5) == 0);
  }
  return 0;
}
