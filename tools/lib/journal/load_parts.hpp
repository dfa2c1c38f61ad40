// The first record of a journal of a load, and of what a load is tried on.
#pragma once

#include "tools/lib/journal/begin.hpp"
#include "tools/lib/load/cache_server.hpp"
#include "tools/lib/load/echo_server.hpp"
#include "tools/lib/load/plan.hpp"

namespace lockstep::journal {

inline constexpr std::string_view load_application = "load";
inline constexpr std::string_view echo_application = "echo";
inline constexpr std::string_view memcached_application = "memcached";

void write_parts(Writer& writer, const Run& run, const load::Plan& plan);
void write_parts(Writer& writer, const Run& run, const load::EchoSettings& server);
void write_parts(Writer& writer, const Run& run, const load::CacheSettings& server);

// The rest of a begin record. Each throws tools::Failure (bad input) for another application's.
load::Plan read_plan(const Reader& reader, const Begin& begin);
load::EchoSettings read_echo(const Reader& reader, const Begin& begin);
load::CacheSettings read_cache(const Reader& reader, const Begin& begin);

}  // namespace lockstep::journal
