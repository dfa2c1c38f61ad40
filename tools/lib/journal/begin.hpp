// The first record of a journal: whose run it is, and everything that a replay has to make again.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/stack/config.hpp"
#include "tools/lib/journal/reader.hpp"
#include "tools/lib/journal/writer.hpp"

namespace lockstep::journal {

/// What a run has whatever its application is.
struct Run {
  Config config;
  std::string interface;
  std::uint64_t started_unix_ns = 0;  ///< when the Instant 0 was, for captures
};

/// The record that a journal begins with: the application's own members are added to it.
nlohmann::ordered_json begin_of(const Run& run, std::string_view application);
void write_begin(Writer& writer, const nlohmann::ordered_json& begin);

/// A first record that was read.
struct Begin {
  Run run;
  std::string application;
  nlohmann::ordered_json json;
  bool edited = false;  ///< its chain does not fit
};
/// Throws tools::Failure (bad input) naming what is missing or wrong.
Begin read_begin(Reader& reader);

/// A name may hold octets that are no UTF-8: then it is the list of its octets.
nlohmann::ordered_json json_of_text(const std::string& text);
std::string text_from(const nlohmann::ordered_json& json);

/// Throws tools::Failure (bad input).
[[noreturn]] void refuse_parts(const Reader& reader, const std::string& why);

}  // namespace lockstep::journal
