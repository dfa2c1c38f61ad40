// The first records of a journal of the HTTP server.
#pragma once

#include <memory>
#include <string>

#include "tools/lib/http/server.hpp"
#include "tools/lib/http/site.hpp"
#include "tools/lib/journal/begin.hpp"

namespace lockstep::journal {

inline constexpr std::string_view http_application = "http";

/// What is recorded of the server besides the turns.
struct HttpParts {
  http::ServerSettings server;
  std::unique_ptr<http::Site> site = std::make_unique<http::Site>();
};

/// Where the content of the site is.
enum class SitePlace : std::uint8_t {
  journal,  ///< whole in the journal
  folder,   ///< outside; the journal has its hash
};

void write_parts(Writer& writer, const Run& run, const http::ServerSettings& server,
                 const http::Site& site, SitePlace place = SitePlace::journal);
/// Reads the rest of the begin record and the content; sets begin.edited if a chain hash does not
/// match. `folder` has the content if the journal has only its hash. Throws tools::Failure (bad
/// input) naming what is missing or wrong.
HttpParts read_http_parts(Reader& reader, Begin& begin, const std::string& folder = {});

}  // namespace lockstep::journal
