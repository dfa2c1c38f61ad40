// Reports as a single self-contained HTML file: frame, style and filters.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::tools {

/// A number shown large at the top of a page.
struct Tile {
  std::string number;
  std::string label;
  std::string state;  ///< "good", "bad" or empty
};

/// A filter of a list: a row is shown if its attribute data-KEY has the chosen value.
struct Choice {
  std::string key;
  std::string all;                                          ///< the label for no filter
  std::vector<std::pair<std::string, std::string>> values;  ///< value and label
};

/// The form above a list: a search field for the text of rows, the filters, and the number of rows
/// shown. It acts on elements of class `row` in the same <section class="list" id="...">. The
/// chosen filters are also kept in the URL, as #ID.KEY=VALUE&...
std::string filters_html(const std::vector<Choice>& choices);

std::string tiles_html(const std::vector<Tile>& tiles);

/// A small label; `state` selects its colour: good, allowed, bad, unknown or plain.
std::string badge_html(std::string_view state, std::string_view text);

/// The whole page. `title` and `lead` are plain text, `body` is HTML. The page loads no external
/// script, style or picture.
std::string page_html(std::string_view title, std::string_view lead, std::string_view body);

}  // namespace lockstep::tools
