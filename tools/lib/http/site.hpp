// What a server serves: files in one region, and bodies of any size made from a pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack/event.hpp"
#include "core/wire/checksum.hpp"
#include "tools/lib/http/conditions.hpp"

namespace lockstep::http {

/// Octets of a bound region. Positions count from the body's first octet.
struct Body {
  RegionId region;
  std::uint64_t begin = 0;   ///< offset of the body in its region
  std::uint64_t period = 0;  ///< if not zero, the region's first `period` octets repeat
  std::uint64_t length = 0;
};

/// What a path refers to.
struct Resource {
  Body body;
  std::string_view type;  ///< of the Content-Type field; a string literal
  Validators validators;  ///< none of a generated body
};

/// Filled once, before a stack is bound to it; read-only afterwards.
class Site {
 public:
  static constexpr std::uint32_t path_max = 512;
  /// `/bytes/N` is N octets; N is at most this.
  static constexpr std::uint64_t generated_max = std::uint64_t{1} << 40;
  /// A prime, so that the pattern's ends fall at every remainder of a segment's length.
  static constexpr std::uint32_t pattern_bytes = 1'048'573;

  Site();
  /// Adds a file under a path such as "/a/b.html". False if the path is longer than path_max octets
  /// or already known.
  bool add(std::string_view path, std::span<const std::byte> content, UnixSeconds modified = {});
  /// Serves the body of `of` under another path too. False if `of` is not known.
  bool add_alias(std::string_view path, std::string_view of);
  /// Ends adding: sorts the entries, and computes their entity tags and the checksums of what will
  /// be lent. An entity tag is the beginning of the content's SHA-256.
  void complete();

  /// Looks up a decoded path. Cost: a binary search.
  std::optional<Resource> find(std::string_view path) const;
  /// Whether a decoded path plus "/" is that of a file, so that the path is a folder's.
  bool is_folder(std::string_view path) const;

  std::span<const std::byte> content() const { return content_; }
  std::span<const std::byte> pattern() const { return pattern_; }
  wire::ChecksumTable content_table() const { return content_table_; }
  wire::ChecksumTable pattern_table() const { return pattern_table_; }
  std::uint64_t files() const { return entries_.size(); }

  /// Each path with its place, in order, as a journal stores them.
  struct Entry {
    std::string path;
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
    UnixSeconds modified = {};
    std::string etag = {};  ///< by complete()
  };
  const std::vector<Entry>& entries() const { return entries_; }
  /// Restores a site from entries() and content(). False if an entry lies outside the content.
  bool restore(std::vector<Entry> entries, std::vector<std::byte> content);

  static constexpr RegionId content_region{0};
  static constexpr RegionId pattern_region{1};

 private:
  const Entry* entry(std::string_view path) const;

  bool complete_ = false;
  std::vector<Entry> entries_;  // sorted by path after complete()
  std::vector<std::byte> content_;
  std::vector<std::byte> pattern_;
  std::vector<std::uint16_t> content_sums_;
  std::vector<std::uint16_t> pattern_sums_;
  wire::ChecksumTable content_table_;
  wire::ChecksumTable pattern_table_;
};

/// The media type by the path's extension; application/octet-stream if that is unknown.
std::string_view type_of(std::string_view path);

}  // namespace lockstep::http
