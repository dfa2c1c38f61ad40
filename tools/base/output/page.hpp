// Reports as one HTML file: the frame, the style and the filters, with no other file beside them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::tools {

/// One number that stands large at the top of a page.
struct Tile {
  std::string number;
  std::string label;
  std::string state;  ///< "good", "bad" or nothing
};

/// A choice that a list is filtered by: a row is shown if its attribute data-KEY has the value.
struct Choice {
  std::string key;
  std::string all;                                          ///< the label for no choice
  std::vector<std::pair<std::string, std::string>> values;  ///< value and label
};

/// The form above a list: a field to search in the text of the rows, the choices, and how many rows
/// are shown. It works on the elements of class `row` in the same <section class="list" id="...">.
/// What is chosen also stands in the address, as #ID.KEY=VALUE&..., and is read from there.
std::string filters_html(const std::vector<Choice>& choices);

std::string tiles_html(const std::vector<Tile>& tiles);

/// A small label: `state` is its colour, one of good, allowed, bad, unknown, plain.
std::string badge_html(std::string_view state, std::string_view text);

/// The whole page. `title` and `lead` are text, `body` is HTML. No script, style or picture comes
/// from elsewhere.
std::string page_html(std::string_view title, std::string_view lead, std::string_view body);

}  // namespace lockstep::tools
