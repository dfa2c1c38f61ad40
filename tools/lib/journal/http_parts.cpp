// JSON for named values, raw octets for lent content.
#include "tools/lib/journal/http_parts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

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
  out["unix_ns"] = server.unix_ns;
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
  out.unix_ns = json.at("unix_ns").get<std::uint64_t>();
  return out;
}

std::vector<std::byte> read_content(Reader& reader, std::uint64_t octets, bool& edited) {
  std::vector<std::byte> content;
  Record record;
  while (content.size() < octets) {
    if (!reader.next(record) || record.kind != Kind::content) {
      refuse_parts(reader, "the content of the site is cut off");
    }
    edited = edited || record.edited;
    content.insert(content.end(), record.fields.begin(), record.fields.end());
  }
  return content;
}

}  // namespace

void write_parts(Writer& writer, const Run& run, const http::ServerSettings& server,
                 const http::Site& site) {
  ordered_json begin = begin_of(run, http_application);
  begin["server"] = json_of(server);
  begin["content_octets"] = site.content().size();
  begin["files"] = ordered_json::array();
  for (const http::Site::Entry& each : site.entries()) {
    begin["files"].push_back(
        {json_of_text(each.path), each.begin, each.length, each.modified.value});
  }
  write_begin(writer, begin);
  auto const content = site.content();
  for (std::size_t at = 0; at < content.size(); at += piece_bytes) {
    writer.begin(Kind::content);
    writer.octets(content.subspan(at, std::min(piece_bytes, content.size() - at)));
    writer.finish();
  }
  writer.flush();
}

HttpParts read_http_parts(Reader& reader, Begin& begin) {
  HttpParts out;
  std::vector<http::Site::Entry> entries;
  std::uint64_t octets = 0;
  try {
    out.server = server_from(begin.json.at("server"));
    octets = begin.json.at("content_octets").get<std::uint64_t>();
    for (auto const& each : begin.json.at("files")) {
      entries.push_back({text_from(each.at(0)),
                         each.at(1).get<std::uint64_t>(),
                         each.at(2).get<std::uint64_t>(),
                         {each.at(3).get<std::uint64_t>()},
                         {}});
    }
  } catch (const nlohmann::json::exception&) {
    refuse_parts(reader, "the first record is no JSON of this version");
  }
  if (!out.site->restore(std::move(entries), read_content(reader, octets, begin.edited))) {
    refuse_parts(reader, "a file lies outside of the content");
  }
  return out;
}

}  // namespace lockstep::journal
