// Suggestions for mistyped names.
#include "tools/base/text/suggestion.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace lockstep::tools {
namespace {

std::string plain(std::string_view name) {
  std::string out(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  std::replace(out.begin(), out.end(), '_', '-');
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return out;
}

/// The number of letters to insert, remove, replace or swap with the next.
std::size_t difference(std::string_view a, std::string_view b) {
  // The rows of the table for the prefixes of `a` with two letters less, one less, and none less.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const wrong = a[i - 1] == b[j - 1] ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + wrong});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string suggestion(std::string_view given, const std::vector<std::string>& candidates) {
  constexpr std::size_t beginning_least = 3, longest = 60;
  if (given.size() > longest) {
    return "";
  }
  std::string const name = plain(given);
  std::size_t const most = std::max<std::size_t>(1, name.size() / 3);
  const std::string* nearest = nullptr;
  std::size_t least = most + 1;
  const std::string* begun = nullptr;
  std::size_t begun_count = 0;
  for (std::string const& candidate : candidates) {
    std::string const other = plain(candidate);
    if (name.size() >= beginning_least && other.starts_with(name)) {
      begun = &candidate;
      ++begun_count;
    }
    std::size_t const off = other.size() > longest ? least : difference(name, other);
    if (off < least && off < name.size()) {
      least = off;
      nearest = &candidate;
    }
  }
  const std::string* const best = begun_count == 1 ? begun : nearest;
  return best == nullptr ? "" : fmt::format(" (did you mean '{}'?)", *best);
}

}  // namespace lockstep::tools
