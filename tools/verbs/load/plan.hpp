// Makes and checks the plan of a load before anything is opened.
#pragma once

#include "core/tcp/config.hpp"
#include "tools/lib/load/plan.hpp"
#include "tools/verbs/load/options.hpp"

namespace lockstep::tools {

/// Throws Failure (bad input) for impossible options, in one line that says what to change.
load::LoadPlan load_plan_of(const LoadOptions& options);

/// Parses a number from 0 to 2^64 - 1.
std::uint64_t seed_of(const std::string& text);

/// Sets the sizes of the pools that the load's connections need, for client or server.
void fit_pools(tcp::Config& tcp, const load::LoadPlan& plan);

}  // namespace lockstep::tools
