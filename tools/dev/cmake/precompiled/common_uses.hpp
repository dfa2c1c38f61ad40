// What most sources of tools/ use of the libraries for JSON and text, in functions that nobody
// calls: their templates are instantiated when this header is precompiled, and not again in each
// source. The members of ordered_json are compiled once, in json_members.cpp.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern template class nlohmann::basic_json<nlohmann::ordered_map>;

// gcc would instantiate what these functions use in each source again.
#ifdef __clang__
namespace lockstep::precompiled {

inline std::string json_uses(std::string text, const char* words, std::uint64_t number) {
  using Json = nlohmann::ordered_json;
  auto const wide = static_cast<double>(number);
  auto const narrow = static_cast<std::uint32_t>(number);
  auto const whole = static_cast<int>(narrow & 7);
  std::string_view const view = text;
  Json object = {{"text", text},           {"words", words},           {"view", view},
                 {"number", number},       {"narrow", narrow},         {"whole", whole},
                 {"wide", wide},           {"flag", number != 0},      {"nothing", nullptr},
                 {"array", Json::array()}, {"object", Json::object()}, {"made", std::string(view)}};
  object["text"] = text;
  object["words"] = words;
  object["view"] = view;
  object["number"] = number;
  object["narrow"] = narrow;
  object["whole"] = whole;
  object["wide"] = wide;
  object["flag"] = number != 0;
  object["nothing"] = nullptr;
  object[text] = object["text"];
  Json array = Json::array();
  array.push_back(object);
  array.push_back({{"text", text}, {"number", number}});
  array.push_back(text);
  array.push_back(number);
  array.push_back(std::move(object));
  for (const Json& each : array) {
    text += each.is_string() ? each.get<std::string>() : "";
    number += each.is_number() ? each.get<std::uint64_t>() : 0;
  }
  return text + array.dump();
}

inline std::string text_uses(std::string text, const char* words, std::uint64_t number) {
  std::string_view const view = words;
  auto const wide = static_cast<double>(number);
  auto const whole = static_cast<int>(number & 7);
  std::string out = fmt::format("{}{}{}{}{}", text, number, view, words, whole);
  fmt::format_to(std::back_inserter(out), "{} {} {} {}\n", text, words, number, view);
  out += fmt::format("{:.3f} {:>5} {:<{}} {:>10.1f}", wide, number, text, whole, wide);
  std::map<std::string, std::string> table;
  table[text] = out;
  std::vector<std::string> lines{text, out};
  lines.push_back(text);
  lines.emplace_back(view);
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, ", ")) + table.begin()->second;
}

}  // namespace lockstep::precompiled
#endif
