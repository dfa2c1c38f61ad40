// The checks as a table, one line each, and as JSON.
#include "tools/verbs/doctor/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"

namespace lockstep::tools {

std::size_t breaks_in(const std::vector<Check>& checks) {
  return static_cast<std::size_t>(std::ranges::count(checks, Severity::breaks, &Check::severity));
}

std::string doctor_text(const std::vector<Check>& checks, std::size_t width) {
  using Align = TextTable::Align;
  TextTable table({{"check", Align::left},
                   {"severity", Align::left},
                   {"found", Align::left},
                   {"mend", Align::left}});
  for (const Check& check : checks) {
    table.add({check.what, name_of(check.severity), check.found, check.mend});
  }
  std::size_t const breaks = breaks_in(checks);
  return table.text(width) +
         (breaks == 0 ? "no check failed\n"
                      : fmt::format("{} {} failed\n", breaks, breaks == 1 ? "check" : "checks"));
}

std::string doctor_json(const DoctorFacts& facts, const std::string& driver,
                        const std::vector<Check>& checks) {
  nlohmann::ordered_json out;
  out["interface"] = facts.name;
  out["driver"] = driver;
  out["breaks"] = breaks_in(checks);
  auto& list = out["checks"] = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    list.push_back({{"check", check.what},
                    {"severity", name_of(check.severity)},
                    {"found", check.found},
                    {"mend", check.mend}});
  }
  return json_text(out);
}

}  // namespace lockstep::tools
