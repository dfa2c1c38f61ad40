// Reads lists of entity tags and dates, and evaluates conditions in their order of precedence.
#include "tools/lib/http/conditions.hpp"

#include <algorithm>

namespace lockstep::http {
namespace {

constexpr bool is_blank(char letter) { return letter == ' ' || letter == '\t'; }

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

/// An entity tag at the front of a list.
struct Tag {
  bool weak = false;
  std::string_view opaque;  ///< with its quotes; empty: malformed
};

/// Takes the first tag; after a malformed one nothing is left.
Tag take_tag(std::string_view& list) {
  Tag tag;
  tag.weak = list.starts_with("W/");
  list.remove_prefix(tag.weak ? 2 : 0);
  std::size_t const end = list.starts_with('"') ? list.find('"', 1) : std::string_view::npos;
  if (end == std::string_view::npos) {
    list = {};
    return tag;
  }
  tag.opaque = list.substr(0, end + 1);
  list.remove_prefix(end + 1);
  return tag;
}

/// Whether one list names the tag. If-None-Match compares weakly, the others strongly.
bool list_has(std::string_view list, std::string_view etag, bool weakly) {
  if (without_blanks(list) == "*") {
    return true;
  }
  //= rfc9110#5.6.1.2
  //# 9110:HTTP-6 empty elements of a list are skipped
  while (!list.empty()) {
    if (list.front() == ',' || is_blank(list.front())) {
      list.remove_prefix(1);
      continue;
    }
    Tag const tag = take_tag(list);
    if (!etag.empty() && tag.opaque == etag && (weakly || !tag.weak)) {
      return true;
    }
  }
  return false;
}

/// The time in a field that must be present once; nullopt if it is not a valid date.
std::optional<UnixSeconds> time_of(const ConditionFields& fields, ConditionKind kind,
                                   UnixSeconds now) {
  auto const text = fields.only(kind);
  return text ? date_in(*text, now) : std::nullopt;
}

}  // namespace

bool ConditionFields::begin(ConditionKind kind) {
  if (count_ == fields_max) {
    return false;
  }
  lines_[count_] = {kind, used_, 0};
  ++count_;
  return true;
}

bool ConditionFields::add(std::string_view part) {
  if (part.size() > octets_max - used_) {
    return false;
  }
  std::copy(part.begin(), part.end(), octets_.begin() + used_);
  used_ = static_cast<std::uint16_t>(used_ + part.size());
  Line& line = lines_[count_ - 1u];
  line.length = static_cast<std::uint16_t>(line.length + part.size());
  return true;
}

std::string_view ConditionFields::value(const Line& line) const {
  return without_blanks({octets_.data() + line.begin, line.length});
}

bool ConditionFields::has(ConditionKind kind) const {
  return std::any_of(lines_.begin(), lines_.begin() + count_,
                     [kind](const Line& each) { return each.kind == kind; });
}

std::optional<std::string_view> ConditionFields::only(ConditionKind kind) const {
  std::optional<std::string_view> found;
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (lines_[i].kind == kind && found) {
      return std::nullopt;
    }
    found = lines_[i].kind == kind ? value(lines_[i]) : found;
  }
  return found;
}

bool ConditionFields::lists(ConditionKind kind, std::string_view etag) const {
  bool const weakly = kind == ConditionKind::if_none_match;
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (lines_[i].kind == kind && list_has(value(lines_[i]), etag, weakly)) {
      return true;
    }
  }
  return false;
}

Verdict verdict_of(const ConditionFields& fields, const Validators& resource, UnixSeconds now) {
  UnixSeconds const modified = resource.modified;
  //= rfc9110#13.2.2
  //# 9110:HTTP-20 the order of precedence
  if (fields.has(ConditionKind::if_match)) {
    //= rfc9110#13.1.1
    //# 9110:HTTP-16 If-Match is false: the method is not performed
    if (!fields.lists(ConditionKind::if_match, resource.etag)) {
      return Verdict::precondition_failed;
    }
    //= rfc9110#13.1.4
    //# 9110:HTTP-19 If-Unmodified-Since beside If-Match, or without a valid date, is ignored
  } else if (auto const limit = time_of(fields, ConditionKind::if_unmodified_since, now);
             limit && modified.value != 0 && modified > *limit) {
    return Verdict::precondition_failed;
  }
  if (fields.has(ConditionKind::if_none_match)) {
    //= rfc9110#13.1.2
    //# 9110:HTTP-17 If-None-Match is false: 304 to GET and HEAD
    return fields.lists(ConditionKind::if_none_match, resource.etag) ? Verdict::not_modified
                                                                     : Verdict::proceed;
  }
  //= rfc9110#13.1.3
  //# 9110:HTTP-18 If-Modified-Since beside If-None-Match, or without a valid date, is ignored
  auto const since = time_of(fields, ConditionKind::if_modified_since, now);
  bool const same = since && modified.value != 0 && modified <= *since;
  return same ? Verdict::not_modified : Verdict::proceed;
}

//= rfc9110#13.1.5
//# 9110:HTTP-21 If-Range compares strongly; if it is false, the Range field is ignored
bool range_applies(const ConditionFields& fields, const Validators& resource, UnixSeconds now) {
  if (!fields.has(ConditionKind::if_range)) {
    return true;
  }
  auto const value = fields.only(ConditionKind::if_range);
  if (!value) {
    return false;
  }
  if (value->starts_with('"')) {
    return !resource.etag.empty() && *value == resource.etag;
  }
  // RFC 9110 8.8.2.2: a date is strong once the second that it names has passed.
  auto const date = date_in(*value, now);
  return date && resource.modified.value != 0 && *date == resource.modified &&
         now.value > resource.modified.value + 1;
}

}  // namespace lockstep::http
