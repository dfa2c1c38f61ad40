// The places and checksums of files, the generated pattern, and path lookup.
#include "tools/lib/http/site.hpp"

#include <algorithm>
#include <array>

#include "core/units/check.hpp"
#include "core/units/random.hpp"
#include "tools/lib/http/sha256.hpp"

namespace lockstep::http {
namespace {

constexpr std::uint32_t stride_bytes = 64;
constexpr std::string_view generated_prefix = "/bytes/";

struct NamedType {
  std::string_view ending;
  std::string_view type;
};

constexpr std::array<NamedType, 14> named_types{{{".html", "text/html"},
                                                 {".htm", "text/html"},
                                                 {".css", "text/css"},
                                                 {".js", "text/javascript"},
                                                 {".json", "application/json"},
                                                 {".txt", "text/plain"},
                                                 {".md", "text/plain"},
                                                 {".svg", "image/svg+xml"},
                                                 {".png", "image/png"},
                                                 {".jpg", "image/jpeg"},
                                                 {".gif", "image/gif"},
                                                 {".ico", "image/x-icon"},
                                                 {".wasm", "application/wasm"},
                                                 {".xml", "application/xml"}}};

/// Parses a decimal without leading zeros; nullopt if it is not one or too large.
std::optional<std::uint64_t> number_in(std::string_view text) {
  if (text.empty() || text.size() > 13 || (text.size() > 1 && text.front() == '0')) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (char const letter : text) {
    if (letter < '0' || letter > '9') {
      return std::nullopt;
    }
    value = value * 10 + static_cast<std::uint64_t>(letter - '0');
  }
  return value <= Site::generated_max ? std::optional(value) : std::nullopt;
}

/// 128 bits of the hash: enough that no two versions of a file share a tag.
std::string etag_of(std::span<const std::byte> content) {
  constexpr std::size_t digits = 32;
  Sha256 hash;
  hash.add(content);
  auto const hex = hash.hex();
  return '"' + std::string(hex.begin(), hex.begin() + digits) + '"';
}

wire::ChecksumTable summed(std::span<const std::byte> content, std::vector<std::uint16_t>& sums) {
  sums.resize(wire::checksum_table_entries(content.size(), stride_bytes));
  return wire::build_checksum_table(content, sums, stride_bytes);
}

}  // namespace

Site::Site() : pattern_(pattern_bytes) {
  Random random(1);
  std::uint64_t word = 0;
  for (std::uint32_t i = 0; i < pattern_bytes; ++i) {
    word = i % 8 == 0 ? random.next() : word >> 8;
    pattern_[i] = static_cast<std::byte>(word & 0xff);
  }
  pattern_table_ = summed(pattern_, pattern_sums_);
}

bool Site::add(std::string_view path, std::span<const std::byte> content, UnixSeconds modified) {
  CHECK(!complete_);
  if (path.size() > path_max || entry(path) != nullptr) {
    return false;
  }
  entries_.push_back({std::string(path), content_.size(), content.size(), modified, {}});
  content_.insert(content_.end(), content.begin(), content.end());
  return true;
}

bool Site::add_alias(std::string_view path, std::string_view of) {
  CHECK(!complete_);
  const Entry* const known = entry(of);
  if (known == nullptr || path.size() > path_max || entry(path) != nullptr) {
    return false;
  }
  Entry again = *known;
  again.path = path;
  entries_.push_back(std::move(again));
  return true;
}

void Site::complete() {
  CHECK(!complete_);
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.path < b.path; });
  for (Entry& each : entries_) {
    each.etag = etag_of(content().subspan(each.begin, each.length));
  }
  content_table_ = summed(content_, content_sums_);
  complete_ = true;
}

bool Site::restore(std::vector<Entry> entries, std::vector<std::byte> content) {
  CHECK(!complete_);
  for (const Entry& each : entries) {
    if (each.begin > content.size() || each.length > content.size() - each.begin) {
      return false;
    }
  }
  entries_ = std::move(entries);
  content_ = std::move(content);
  complete();
  return true;
}

const Site::Entry* Site::entry(std::string_view path) const {
  if (!complete_) {
    auto const found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& each) { return each.path == path; });
    return found == entries_.end() ? nullptr : &*found;
  }
  auto const found = std::lower_bound(entries_.begin(), entries_.end(), path,
                                      [](const Entry& each, std::string_view wanted) {
                                        return std::string_view(each.path) < wanted;
                                      });
  return found == entries_.end() || found->path != path ? nullptr : &*found;
}

std::optional<Resource> Site::find(std::string_view path) const {
  CHECK(complete_);
  if (const Entry* const known = entry(path); known != nullptr) {
    std::string_view const name = known->path;
    return Resource{{content_region, known->begin, 0, known->length},
                    type_of(name.ends_with('/') ? ".html" : name),
                    {known->etag, known->modified}};
  }
  if (path.starts_with(generated_prefix)) {
    if (auto const bytes = number_in(path.substr(generated_prefix.size()))) {
      return Resource{{pattern_region, 0, pattern_bytes, *bytes}, type_of(""), {}};
    }
  }
  return std::nullopt;
}

bool Site::is_folder(std::string_view path) const {
  if (path.empty() || path.size() >= path_max) {
    return false;
  }
  std::array<char, path_max> with_slash;
  *std::copy(path.begin(), path.end(), with_slash.begin()) = '/';
  return entry({with_slash.data(), path.size() + 1}) != nullptr;
}

std::string_view type_of(std::string_view path) {
  for (const NamedType& each : named_types) {
    if (path.ends_with(each.ending)) {
      return each.type;
    }
  }
  return "application/octet-stream";
}

}  // namespace lockstep::http
