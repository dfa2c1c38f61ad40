// The checks as a table and as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/verbs/doctor/judge.hpp"

namespace lockstep::tools {

/// `width` as for TextTable.
std::string doctor_text(const std::vector<Check>& checks, std::size_t width);
/// `driver` as given on the command line.
std::string doctor_json(const DoctorFacts& facts, const std::string& driver,
                        const std::vector<Check>& checks);
std::size_t breaks_in(const std::vector<Check>& checks);

}  // namespace lockstep::tools
