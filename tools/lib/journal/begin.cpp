// Writes and reads the begin record as JSON.
#include "tools/lib/journal/begin.hpp"

#include <fmt/core.h>

#include "tools/base/output/utf8.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/process/version.hpp"
#include "tools/lib/journal/config_json.hpp"

namespace lockstep::journal {

using nlohmann::ordered_json;

void refuse_parts(const Reader& reader, const std::string& why) {
  throw tools::Failure(tools::ExitCode::bad_input,
                       fmt::format("{}: {}; expected a journal that this program wrote: record it "
                                   "again",
                                   reader.path(), why));
}

ordered_json json_of_text(const std::string& text) {
  if (tools::utf8_only(text) == text) {
    return text;
  }
  std::vector<unsigned char> const octets(text.begin(), text.end());
  return octets;
}

std::string text_from(const ordered_json& json) {
  if (json.is_string()) {
    return json.get<std::string>();
  }
  auto const octets = json.get<std::vector<unsigned char>>();
  return {octets.begin(), octets.end()};
}

ordered_json begin_of(const Run& run, std::string_view application) {
  ordered_json begin;
  begin["version"] = tools::version;
  begin["application"] = application;
  begin["interface"] = run.interface;
  begin["started_unix_ns"] = run.started_unix_ns;
  begin["config"] = json_of(run.config);
  return begin;
}

void write_begin(Writer& writer, const ordered_json& begin) {
  // The interface's name may not be valid UTF-8; it is only displayed.
  std::string const text = begin.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  writer.begin(Kind::begin);
  writer.octets(std::as_bytes(std::span(text)));
  writer.finish();
}

Begin read_begin(Reader& reader) {
  Record record;
  if (!reader.next(record) || record.kind != Kind::begin) {
    refuse_parts(reader, "the first record is missing");
  }
  Begin out;
  out.edited = record.edited;
  try {
    auto const* const text = reinterpret_cast<const char*>(record.fields.data());
    out.json = ordered_json::parse(text, text + record.fields.size());
    out.application = out.json.at("application").get<std::string>();
    out.run.interface = out.json.at("interface").get<std::string>();
    out.run.started_unix_ns = out.json.at("started_unix_ns").get<std::uint64_t>();
    std::string field;
    if (!config_from(out.json.at("config"), out.run.config, field)) {
      refuse_parts(reader, "the configuration is not of this version: " + field);
    }
  } catch (const nlohmann::json::exception&) {
    refuse_parts(reader, "the first record is no JSON of this version");
  }
  return out;
}

}  // namespace lockstep::journal
