// Dates in their three formats, lists of entity tags, and the precedence of conditions.
#include "tools/lib/http/conditions.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lockstep::http {
namespace {

constexpr UnixSeconds then{784'111'777};
constexpr UnixSeconds now{1'700'000'000};
const char* const then_text = "Sun, 06 Nov 1994 08:49:37 GMT";

std::string text_of(UnixSeconds at) {
  auto const text = date_text(at);
  return {text.begin(), text.end()};
}

std::int64_t read(std::string_view text) {
  auto const date = date_in(text, now);
  return date ? static_cast<std::int64_t>(date->value) : -1;
}

//= rfc9110#5.6.7
//# 9110:HTTP-7 one format is written
TEST(Date, Written) {
  EXPECT_EQ(text_of({0}), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(text_of(then), then_text);
  EXPECT_EQ(text_of({951'827'696}), "Tue, 29 Feb 2000 12:34:56 GMT");
  EXPECT_EQ(text_of({~std::uint64_t{0}}), "Fri, 31 Dec 9999 23:59:59 GMT");
}

//= rfc9110#5.6.7
//# 9110:HTTP-8 three formats are read
TEST(Date, ReadInThreeFormats) {
  EXPECT_EQ(read(then_text), 784'111'777);
  EXPECT_EQ(read("Sunday, 06-Nov-94 08:49:37 GMT"), 784'111'777);
  EXPECT_EQ(read("Sun Nov  6 08:49:37 1994"), 784'111'777);
  EXPECT_EQ(read("Wed Nov 16 08:49:37 1994"), 784'975'777);
  // Two digits of a year are at most 50 years ahead of 2023.
  EXPECT_EQ(read("Sunday, 01-Jan-73 00:00:00 GMT"), 3'250'454'400);
  EXPECT_EQ(read("Tuesday, 01-Jan-74 00:00:00 GMT"), 126'230'400);
  EXPECT_EQ(date_in(text_of({951'827'696}), now), UnixSeconds{951'827'696});
}

TEST(Date, WhatIsNone) {
  for (std::string_view const bad :
       {"", "yesterday", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, 06 ovD 1994 08:49:37 GMT",
        "Son, 06 Nov 1994 08:49:37 GMT", "Sun, 0x Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMTx", "Sun Nov  6 08:49:37 199x", "784111777"}) {
    EXPECT_EQ(read(bad), -1) << bad;
  }
}

using Lines = std::vector<std::pair<ConditionKind, std::string>>;
using enum ConditionKind;

ConditionFields fields_of(const Lines& lines) {
  ConditionFields out;
  for (auto const& [kind, value] : lines) {
    EXPECT_TRUE(out.begin(kind));
    EXPECT_TRUE(out.add(value.substr(0, 3)));
    EXPECT_TRUE(out.add(value.size() > 3 ? value.substr(3) : ""));
  }
  return out;
}

Verdict verdict(const Lines& lines, const Validators& resource = {"\"a\"", then}) {
  return verdict_of(fields_of(lines), resource, now);
}

//= rfc9110#13.1.1
//# 9110:HTTP-16 If-Match
TEST(Conditions, IfMatchComparesStrongly) {
  EXPECT_EQ(verdict({{if_match, "\"a\""}}), Verdict::proceed);
  EXPECT_EQ(verdict({{if_match, "*"}}), Verdict::proceed);
  EXPECT_EQ(verdict({{if_match, "\"b\""}}), Verdict::precondition_failed);
  EXPECT_EQ(verdict({{if_match, "W/\"a\""}}), Verdict::precondition_failed);
  EXPECT_EQ(verdict({{if_match, "\"a\""}}, {}), Verdict::precondition_failed);
}

//= rfc9110#13.1.2
//# 9110:HTTP-17 If-None-Match
TEST(Conditions, IfNoneMatchComparesWeakly) {
  EXPECT_EQ(verdict({{if_none_match, "\"a\""}}), Verdict::not_modified);
  EXPECT_EQ(verdict({{if_none_match, "W/\"a\""}}), Verdict::not_modified);
  EXPECT_EQ(verdict({{if_none_match, "*"}}, {}), Verdict::not_modified);
  EXPECT_EQ(verdict({{if_none_match, "\"b\", \"c\""}}), Verdict::proceed);
  EXPECT_EQ(verdict({{if_none_match, "\"b\""}, {if_none_match, "\"a\""}}), Verdict::not_modified);
  EXPECT_EQ(verdict({{if_none_match, "a"}}), Verdict::proceed);
  EXPECT_EQ(verdict({{if_none_match, "\"a"}}), Verdict::proceed);
}

//= rfc9110#5.6.1.2
//# 9110:HTTP-6 empty elements
TEST(Conditions, EmptyElementsOfAListAreSkipped) {
  EXPECT_EQ(verdict({{if_none_match, ", ,\"b\" ,,\t\"a\","}}), Verdict::not_modified);
  EXPECT_EQ(verdict({{if_none_match, "\"b,\"a\""}}), Verdict::proceed);
}

//= rfc9110#13.1.3
//# 9110:HTTP-18 If-Modified-Since
TEST(Conditions, IfModifiedSince) {
  EXPECT_EQ(verdict({{if_modified_since, then_text}}), Verdict::not_modified);
  EXPECT_EQ(verdict({{if_modified_since, text_of({then.value - 1})}}), Verdict::proceed);
  EXPECT_EQ(verdict({{if_modified_since, text_of({then.value + 1})}}), Verdict::not_modified);
  EXPECT_EQ(verdict({{if_modified_since, "soon"}}), Verdict::proceed);
  EXPECT_EQ(verdict({{if_modified_since, then_text}}, {"\"a\"", {}}), Verdict::proceed);
  EXPECT_EQ(verdict({{if_modified_since, then_text}, {if_modified_since, then_text}}),
            Verdict::proceed);
}

//= rfc9110#13.1.4
//# 9110:HTTP-19 If-Unmodified-Since
TEST(Conditions, IfUnmodifiedSince) {
  EXPECT_EQ(verdict({{if_unmodified_since, then_text}}), Verdict::proceed);
  EXPECT_EQ(verdict({{if_unmodified_since, text_of({then.value - 1})}}),
            Verdict::precondition_failed);
  EXPECT_EQ(verdict({{if_unmodified_since, "soon"}}), Verdict::proceed);
  EXPECT_EQ(verdict({{if_match, "\"a\""}, {if_unmodified_since, text_of({0})}}), Verdict::proceed);
}

//= rfc9110#13.2.2
//# 9110:HTTP-20 precedence
TEST(Conditions, Precedence) {
  EXPECT_EQ(verdict({{if_none_match, "\"a\""}, {if_match, "\"b\""}}), Verdict::precondition_failed);
  EXPECT_EQ(verdict({{if_none_match, "\"b\""}, {if_modified_since, then_text}}), Verdict::proceed);
  EXPECT_EQ(verdict({{if_match, "\"a\""}, {if_modified_since, then_text}}), Verdict::not_modified);
}

//= rfc9110#13.1.5
//# 9110:HTTP-21 If-Range
TEST(Conditions, IfRangeComparesStrongly) {
  auto const applies = [](const Lines& lines, UnixSeconds modified = then) {
    return range_applies(fields_of(lines), {"\"a\"", modified}, now);
  };
  EXPECT_TRUE(applies({}));
  EXPECT_TRUE(applies({{if_range, "\"a\""}}));
  EXPECT_FALSE(applies({{if_range, "\"b\""}}));
  EXPECT_FALSE(applies({{if_range, "W/\"a\""}}));
  EXPECT_TRUE(applies({{if_range, then_text}}));
  EXPECT_FALSE(applies({{if_range, text_of({then.value + 1})}}));
  EXPECT_FALSE(applies({{if_range, text_of(now)}}, now));
  EXPECT_FALSE(applies({{if_range, "\"a\""}, {if_range, "\"a\""}}));
}

TEST(Conditions, TheBufferIsBounded) {
  ConditionFields fields;
  EXPECT_TRUE(fields.empty());
  for (std::uint32_t i = 0; i < ConditionFields::fields_max; ++i) {
    EXPECT_TRUE(fields.begin(if_match));
  }
  EXPECT_FALSE(fields.begin(if_match));
  EXPECT_TRUE(fields.add(std::string(ConditionFields::octets_max, 'x')));
  EXPECT_FALSE(fields.add("x"));
}

}  // namespace
}  // namespace lockstep::http
