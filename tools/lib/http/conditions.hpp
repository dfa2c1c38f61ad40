// Conditional requests: the fields that carry conditions, and their evaluation (RFC 9110 13).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tools/lib/http/date.hpp"

namespace lockstep::http {

enum class ConditionKind : std::uint8_t {
  if_match,
  if_none_match,
  if_modified_since,
  if_unmodified_since,
  if_range,
};

/// What a resource is compared by.
struct Validators {
  std::string_view etag = {};  ///< a strong entity tag with its quotes; empty: none
  UnixSeconds modified = {};
};

/// The fields of one request, in a fixed buffer.
class ConditionFields {
 public:
  static constexpr std::uint32_t fields_max = 8;
  static constexpr std::uint32_t octets_max = 512;

  void clear() {
    count_ = 0;
    used_ = 0;
  }
  bool empty() const { return count_ == 0; }
  /// Begins a field line. False if there are too many.
  bool begin(ConditionKind kind);
  /// Appends to the value of the line begun last. False if the buffer is full.
  bool add(std::string_view part);

  bool has(ConditionKind kind) const;
  /// The value, if exactly one line has it.
  std::optional<std::string_view> only(ConditionKind kind) const;
  /// Whether a line of this list-based field has `*`, or a tag that equals `etag`.
  bool lists(ConditionKind kind, std::string_view etag) const;

 private:
  struct Line {
    ConditionKind kind = ConditionKind::if_match;
    std::uint16_t begin = 0;
    std::uint16_t length = 0;
  };
  std::string_view value(const Line& line) const;

  std::uint16_t used_ = 0;
  std::uint8_t count_ = 0;
  std::array<Line, fields_max> lines_{};
  std::array<char, octets_max> octets_{};
};

enum class Verdict : std::uint8_t { proceed, not_modified, precondition_failed };

/// Evaluates the conditions of a GET or HEAD in the order of RFC 9110 13.2.2.
Verdict verdict_of(const ConditionFields& fields, const Validators& resource, UnixSeconds now);
/// Whether a Range field applies: there is no If-Range, or its validator matches strongly.
bool range_applies(const ConditionFields& fields, const Validators& resource, UnixSeconds now);

}  // namespace lockstep::http
