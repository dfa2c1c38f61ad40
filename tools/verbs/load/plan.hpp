// What a load is made of, checked before anything is opened.
#pragma once

#include "core/tcp/config.hpp"
#include "tools/lib/load/plan.hpp"
#include "tools/verbs/load/options.hpp"

namespace lockstep::tools {

/// Throws Failure (bad input) for what cannot be, in one line with the mend.
load::LoadPlan load_plan_of(const LoadOptions& options);

/// A number from 0 to 2^64 - 1.
std::uint64_t seed_of(const std::string& text);

/// The pools that so many connections of a load want, of either side.
void fit_pools(tcp::Config& tcp, const load::LoadPlan& plan);

}  // namespace lockstep::tools
