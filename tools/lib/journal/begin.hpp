// The first record of a journal: the application, and everything a replay needs to recreate the
// run.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/stack/config.hpp"
#include "tools/lib/journal/reader.hpp"
#include "tools/lib/journal/writer.hpp"

namespace lockstep::journal {

/// The parts of a run that every application has.
struct Run {
  Config config;
  std::string interface;
  std::uint64_t started_unix_ns = 0;  ///< Unix time of Instant 0, for captures
};

/// The begin record of a run; the application adds its own members.
nlohmann::ordered_json begin_of(const Run& run, std::string_view application);
void write_begin(Writer& writer, const nlohmann::ordered_json& begin);

/// The contents of a begin record.
struct Begin {
  Run run;
  std::string application;
  nlohmann::ordered_json json;
  bool edited = false;  ///< the record's chain hash does not match
};
/// Throws tools::Failure (bad input) naming what is missing or wrong.
Begin read_begin(Reader& reader);

/// A string as JSON; one that is not UTF-8 becomes the list of its octets.
nlohmann::ordered_json json_of_text(const std::string& text);
std::string text_from(const nlohmann::ordered_json& json);

/// Throws tools::Failure (bad input).
[[noreturn]] void refuse_parts(const Reader& reader, const std::string& why);

}  // namespace lockstep::journal
