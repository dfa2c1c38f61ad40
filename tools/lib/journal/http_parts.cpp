// JSON for named values, raw octets for lent content.
#include "tools/lib/journal/http_parts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/lib/http/sha256.hpp"

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
  out["grace_ns"] = server.grace.ns;
  out["per_client"] = server.per_client;
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
  out.grace = time("grace_ns");
  out.per_client = number("per_client");
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

std::string content_hash(std::span<const std::byte> content) {
  http::Sha256 hash;
  hash.add(content);
  auto const hex = hash.hex();
  return {hex.begin(), hex.end()};
}

/// Reads a file of the site to its place in the content. False if it has another length.
bool read_file(const std::string& path, std::span<std::byte> into) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || static_cast<std::uint64_t>(file.tellg()) != into.size()) {
    return false;
  }
  file.seekg(0);
  return static_cast<bool>(
      file.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size())));
}

/// The content of a site that the journal knows by its hash.
std::vector<std::byte> content_of_folder(Reader& reader, const std::string& folder,
                                         const std::vector<http::Site::Entry>& entries,
                                         std::uint64_t octets, const std::string& hash) {
  if (folder.empty()) {
    refuse_parts(reader, "it has only the hash of the served files: give their --folder");
  }
  std::vector<std::byte> content(octets);
  for (const http::Site::Entry& each : entries) {
    bool const inside = each.begin <= octets && each.length <= octets - each.begin;
    if (!inside) {
      refuse_parts(reader, "a file lies outside of the content");
    }
    if (!each.path.ends_with('/') &&
        !read_file(folder + each.path, std::span(content).subspan(each.begin, each.length))) {
      refuse_parts(reader, fmt::format("{}{} is not the file that was served: restore it", folder,
                                       each.path));
    }
  }
  if (content_hash(content) != hash) {
    refuse_parts(reader, fmt::format("the files of {} have changed since: restore them", folder));
  }
  return content;
}

}  // namespace

void write_parts(Writer& writer, const Run& run, const http::ServerSettings& server,
                 const http::Site& site, SitePlace place) {
  bool const outside = place == SitePlace::folder && !site.content().empty();
  ordered_json begin = begin_of(run, http_application);
  begin["server"] = json_of(server);
  begin["content_octets"] = site.content().size();
  if (outside) {
    begin["content_sha256"] = content_hash(site.content());
  }
  begin["files"] = ordered_json::array();
  for (const http::Site::Entry& each : site.entries()) {
    begin["files"].push_back(
        {json_of_text(each.path), each.begin, each.length, each.modified.value});
  }
  write_begin(writer, begin);
  auto const content = outside ? std::span<const std::byte>{} : site.content();
  for (std::size_t at = 0; at < content.size(); at += piece_bytes) {
    writer.begin(Kind::content);
    writer.octets(content.subspan(at, std::min(piece_bytes, content.size() - at)));
    writer.finish();
  }
  writer.flush();
}

HttpParts read_http_parts(Reader& reader, Begin& begin, const std::string& folder) {
  HttpParts out;
  std::vector<http::Site::Entry> entries;
  std::uint64_t octets = 0;
  std::string hash;
  try {
    out.server = server_from(begin.json.at("server"));
    octets = begin.json.at("content_octets").get<std::uint64_t>();
    hash = begin.json.value("content_sha256", std::string());
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
  auto content = hash.empty() ? read_content(reader, octets, begin.edited)
                              : content_of_folder(reader, folder, entries, octets, hash);
  if (!out.site->restore(std::move(entries), std::move(content))) {
    refuse_parts(reader, "a file lies outside of the content");
  }
  return out;
}

}  // namespace lockstep::journal
