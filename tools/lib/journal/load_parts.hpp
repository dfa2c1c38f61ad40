// The first record of a journal of a load or of its server.
#pragma once

#include "tools/lib/journal/begin.hpp"
#include "tools/lib/load/cache_server.hpp"
#include "tools/lib/load/echo_server.hpp"
#include "tools/lib/load/plan.hpp"

namespace lockstep::journal {

inline constexpr std::string_view load_application = "load";
inline constexpr std::string_view echo_application = "echo";
inline constexpr std::string_view memcached_application = "memcached";

void write_parts(Writer& writer, const Run& run, const load::LoadPlan& plan);
void write_parts(Writer& writer, const Run& run, const load::EchoSettings& server);
void write_parts(Writer& writer, const Run& run, const load::CacheSettings& server);

// Each reads the rest of a begin record; throws tools::Failure for another application's record.
load::LoadPlan read_plan(const Reader& reader, const Begin& begin);
load::EchoSettings read_echo(const Reader& reader, const Begin& begin);
load::CacheSettings read_cache(const Reader& reader, const Begin& begin);

}  // namespace lockstep::journal
