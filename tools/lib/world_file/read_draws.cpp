// Reads what an application draws: "exponential 64KiB", "uniform 0s 2s", "pareto 10KiB 1.2",
// "file sizes.txt", "poisson 20ms", "on_off 1s 2s 20ms".
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <vector>

#include "tools/base/text/units.hpp"
#include "tools/lib/world_file/reader.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t values_max = 1'000'000;

using ParseNumber = std::function<std::optional<std::uint64_t>(std::string_view)>;

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end != at) {
      out.emplace_back(text.substr(at, end - at));
    }
    at = end + 1;
  }
  return out;
}

std::optional<std::uint64_t> parse_time(std::string_view text) {
  const auto out = parse_duration(text);
  return out ? std::optional(out->ns) : std::nullopt;
}

/// A size with a unit; in a file also without.
std::optional<std::uint64_t> parse_plain_size(std::string_view text) {
  std::uint64_t out = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && stop == text.data() + text.size() ? std::optional(out)
                                                                   : parse_bytes(text);
}

/// "1.2" is 1,200 thousandths.
std::optional<std::uint32_t> parse_shape(std::string_view text) {
  const auto share = parse_rate(fmt::format("{}kbit/s", text));  // a decimal number times 1,000
  if (!share || *share == 0 || *share > 100'000) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*share);
}

std::vector<std::uint64_t> read_values(Table& table, std::string_view key,
                                       const std::string& name) {
  const std::string path = table.path_beside(name);
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) {
    table.wrong(key, fmt::format("{} cannot be read: name a file of sizes, one a line", path));
  }
  std::vector<std::uint64_t> out;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::vector<std::string> words = words_in(line.substr(0, line.find_first_of("#\r")));
    if (words.empty()) {
      continue;
    }
    const auto value = parse_plain_size(words[0]);
    if (!value || words.size() != 1 || out.size() == values_max) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}:{}: \"{}\" was found, expected a size like 1500 or \"64KiB\", "
                                "one a line, at most {} of them: correct it",
                                path, number, line, values_max));
    }
    out.push_back(*value);
  }
  if (out.empty()) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}:1: no size was found, expected one a line: add some", path));
  }
  return out;
}

/// The quantity that the words describe; nothing if they do not describe one.
std::optional<sim::Draw> draw_of(const std::vector<std::string>& words, const ParseNumber& parse) {
  sim::Draw draw;
  const auto first = words.size() > 1 ? parse(words[1]) : std::nullopt;
  if (!first) {
    return std::nullopt;
  }
  if (words[0] == "uniform" && words.size() == 3) {
    const auto most = parse(words[2]);
    draw.kind = sim::DrawKind::uniform;
    draw.least = *first;
    draw.most = most.value_or(0);
    return most && draw.least <= draw.most ? std::optional(draw) : std::nullopt;
  }
  if (words[0] == "exponential" && words.size() == 2) {
    draw.kind = sim::DrawKind::exponential;
    draw.mean = *first;
    return draw;
  }
  return std::nullopt;
}

std::optional<sim::Draw> pareto_of(const std::vector<std::string>& words) {
  if (words[0] != "pareto" || words.size() < 3 || words.size() > 4) {
    return std::nullopt;
  }
  sim::Draw draw;
  draw.kind = sim::DrawKind::pareto;
  const auto least = parse_bytes(words[1]);
  const auto shape = parse_shape(words[2]);
  const auto most = words.size() == 4 ? parse_bytes(words[3]) : parse_bytes("1GiB");
  if (!least || !shape || !most || *least > *most) {
    return std::nullopt;
  }
  draw.least = *least;
  draw.shape_thousandths = *shape;
  draw.most = *most;
  return draw;
}

}  // namespace

void read_time_or_draw(Table& table, std::string_view key, Duration& fixed, sim::Draw& draw) {
  const std::string text = table.text(key, "");
  if (text.empty()) {
    return;
  }
  if (const auto plain = parse_duration(text)) {
    fixed = *plain;
    return;
  }
  const auto drawn = draw_of(words_in(text), parse_time);
  if (!drawn) {
    table.wrong(key, fmt::format("\"{}\" was found, expected a time with a unit, like \"10ms\", or "
                                 "\"uniform 0s 2s\" or \"exponential 1s\"",
                                 text));
  }
  draw = *drawn;
  fixed = {};
}

void read_size_or_draw(Table& table, std::string_view key, std::uint64_t& fixed, sim::Draw& draw) {
  const std::string text = table.text(key, "");
  if (text.empty()) {
    return;
  }
  if (const auto plain = parse_bytes(text)) {
    fixed = *plain;
    return;
  }
  const std::vector<std::string> words = words_in(text);
  if (words.size() == 2 && words[0] == "file") {
    draw.values = read_values(table, key, words[1]);
    draw.kind = sim::DrawKind::listed;
    return;
  }
  auto drawn = draw_of(words, parse_bytes);
  drawn = drawn || words.empty() ? drawn : pareto_of(words);
  if (!drawn) {
    table.wrong(key, fmt::format("\"{}\" was found, expected a size with a unit, like \"64KiB\", "
                                 "or \"exponential 64KiB\", \"uniform 1KiB 1MiB\", \"pareto 10KiB "
                                 "1.2 100MiB\" (least, shape, most) or \"file sizes.txt\"",
                                 text));
  }
  draw = *drawn;
}

sim::ArrivalSpec read_arrivals(Table& table) {
  sim::ArrivalSpec out;
  const std::string text = table.text("arrivals", "regular");
  const std::vector<std::string> words = words_in(text);
  std::vector<Duration> times;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto time = parse_duration(words[i]);
    times.push_back(time.value_or(Duration{}));
  }
  const bool none = std::find(times.begin(), times.end(), Duration{}) != times.end();
  if (text == "regular") {
    return out;
  }
  if (!none && times.size() == 1 && words[0] == "poisson") {
    return {sim::ArrivalKind::poisson, times[0], {}, {}};
  }
  if (!none && times.size() == 3 && words[0] == "on_off") {
    const sim::ArrivalSpec out_of{sim::ArrivalKind::on_off, times[2], times[0], times[1]};
    if (out_of.hardly_on()) {
      table.wrong("arrivals",
                  "an arrival would take more than 1,000 times on, expected a longer "
                  "time on or a shorter one between two arrivals");
    }
    return out_of;
  }
  table.wrong("arrivals",
              fmt::format("\"{}\" was found, expected \"regular\", \"poisson 20ms\" (mean time "
                          "between two) or \"on_off 1s 2s 20ms\" (mean times on, off, and between "
                          "two while on)",
                          text));
}

void check_draws(Table& table, const sim::AppSpec& app) {
  const std::string_view model = app.model.view();
  if (model == "http" && app.draws.any()) {
    table.wrong("model", "http draws nothing, expected fixed values of start, bytes and think");
  }
  if (model == "chatter" && app.draws.bytes.is_random()) {
    table.wrong("bytes",
                "the server of chatter must know the size of a request, expected a fixed "
                "one");
  }
}

}  // namespace lockstep::tools
