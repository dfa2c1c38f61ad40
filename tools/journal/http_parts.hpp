// The first records of a journal of the HTTP server: everything that a replay has to make again.
#pragma once

#include <memory>
#include <string>

#include "core/seam/config.hpp"
#include "tools/http/server.hpp"
#include "tools/http/site.hpp"
#include "tools/journal/reader.hpp"
#include "tools/journal/writer.hpp"

namespace lockstep::journal {

/// What was recorded, besides the turns.
struct HttpParts {
  Config config;
  http::ServerSettings server;
  std::unique_ptr<http::Site> site = std::make_unique<http::Site>();
  std::string interface;
  std::uint64_t started_unix_ns = 0;  ///< when the Instant 0 was, for captures
};

void write_parts(Writer& writer, const Config& config, const http::ServerSettings& server,
                 const http::Site& site, const std::string& interface,
                 std::uint64_t started_unix_ns);
/// Reads the begin record and the content. `edited` is set if their chain does not fit. Throws
/// tools::Failure (bad input) naming what is missing or wrong.
HttpParts read_parts(Reader& reader, bool& edited);

}  // namespace lockstep::journal
