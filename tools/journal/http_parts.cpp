// JSON for what has names, octets for what is lent.
#include "tools/journal/http_parts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/cli/failure.hpp"
#include "tools/cli/version.hpp"
#include "tools/journal/config_json.hpp"
#include "tools/output/utf8.hpp"

namespace lockstep::journal {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t piece_bytes = 256 * 1024;

ordered_json json_of(const http::ServerSettings& server) {
  ordered_json out;
  out["port"] = server.port.value;
  out["pending"] = server.backlog.pending.value;
  out["admitted"] = server.backlog.admitted.value;
  out["target_max"] = server.limits.target_max.count;
  out["head_max"] = server.limits.head_max.count;
  out["body_max"] = server.limits.body_max.count;
  out["sink_max"] = server.limits.sink_max;
  out["idle_ns"] = server.idle.ns;
  out["request_ns"] = server.request.ns;
  out["send_ns"] = server.send.ns;
  out["linger_ns"] = server.linger.ns;
  return out;
}

http::ServerSettings server_from(const ordered_json& json) {
  auto const number = [&](const char* name) { return json.at(name).get<std::uint32_t>(); };
  auto const time = [&](const char* name) { return Duration{json.at(name).get<std::uint64_t>()}; };
  http::ServerSettings out;
  out.port = Port{json.at("port").get<std::uint16_t>()};
  out.backlog = {Count{number("pending")}, Count{number("admitted")}};
  out.limits = {Bytes{number("target_max")}, Bytes{number("head_max")}, Bytes{number("body_max")},
                json.at("sink_max").get<std::uint64_t>()};
  out.idle = time("idle_ns");
  out.request = time("request_ns");
  out.send = time("send_ns");
  out.linger = time("linger_ns");
  return out;
}

[[noreturn]] void refuse(const Reader& reader, const std::string& why) {
  throw tools::Failure(tools::ExitCode::bad_input,
                       fmt::format("{}: {}; expected a journal that this program wrote: record it "
                                   "again",
                                   reader.path(), why));
}

/// The name of a file may hold octets that are no UTF-8: then it is the list of its octets.
ordered_json json_of(const std::string& path) {
  if (tools::utf8_only(path) == path) {
    return path;
  }
  std::vector<unsigned char> const octets(path.begin(), path.end());
  return octets;
}

std::string path_from(const ordered_json& json) {
  if (json.is_string()) {
    return json.get<std::string>();
  }
  auto const octets = json.get<std::vector<unsigned char>>();
  return {octets.begin(), octets.end()};
}

std::vector<std::byte> read_content(Reader& reader, std::uint64_t octets, bool& edited) {
  std::vector<std::byte> content;
  Record record;
  while (content.size() < octets) {
    if (!reader.next(record) || record.kind != Kind::content) {
      refuse(reader, "the content of the site is cut off");
    }
    edited = edited || record.edited;
    content.insert(content.end(), record.fields.begin(), record.fields.end());
  }
  return content;
}

}  // namespace

void write_parts(Writer& writer, const Config& config, const http::ServerSettings& server,
                 const http::Site& site, const std::string& interface,
                 std::uint64_t started_unix_ns) {
  ordered_json begin;
  begin["version"] = tools::version;
  begin["application"] = "http";
  begin["interface"] = interface;
  begin["started_unix_ns"] = started_unix_ns;
  begin["config"] = journal::json_of(config);
  begin["server"] = json_of(server);
  begin["content_octets"] = site.content().size();
  begin["files"] = ordered_json::array();
  for (const http::Site::Entry& each : site.entries()) {
    begin["files"].push_back({json_of(each.path), each.begin, each.length});
  }
  // The interface's name may hold such octets, too, and is only shown.
  std::string const text = begin.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  writer.begin(Kind::begin);
  writer.octets(std::as_bytes(std::span(text)));
  writer.finish();
  auto const content = site.content();
  for (std::size_t at = 0; at < content.size(); at += piece_bytes) {
    writer.begin(Kind::content);
    writer.octets(content.subspan(at, std::min(piece_bytes, content.size() - at)));
    writer.finish();
  }
  writer.flush();
}

HttpParts read_parts(Reader& reader, bool& edited) {
  Record record;
  if (!reader.next(record) || record.kind != Kind::begin) {
    refuse(reader, "the first record is missing");
  }
  edited = record.edited;
  HttpParts out;
  std::vector<http::Site::Entry> entries;
  std::uint64_t octets = 0;
  std::string fault = "the first record is no JSON of this version";
  try {
    auto const* const text = reinterpret_cast<const char*>(record.fields.data());
    auto const begin = ordered_json::parse(text, text + record.fields.size());
    if (begin.at("application") != "http") {
      refuse(reader, "the application is none that is known here");
    }
    out.interface = begin.at("interface").get<std::string>();
    out.started_unix_ns = begin.at("started_unix_ns").get<std::uint64_t>();
    std::string field;
    if (!config_from(begin.at("config"), out.config, field)) {
      refuse(reader, "the configuration is not of this version: " + field);
    }
    out.server = server_from(begin.at("server"));
    octets = begin.at("content_octets").get<std::uint64_t>();
    for (auto const& each : begin.at("files")) {
      entries.push_back({path_from(each.at(0)), each.at(1).get<std::uint64_t>(),
                         each.at(2).get<std::uint64_t>()});
    }
  } catch (const nlohmann::json::exception&) {
    refuse(reader, fault);
  }
  if (!out.site->restore(std::move(entries), read_content(reader, octets, edited))) {
    refuse(reader, "a file lies outside of the content");
  }
  return out;
}

}  // namespace lockstep::journal
