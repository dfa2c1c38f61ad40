// `lockstep compare`: finds where devices break a rule, and writes a script for each finding.
#include "tools/verbs/compare/compare.hpp"

#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "conformance/devices/load.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/progress.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;
using conformance::compare::ComparedDevice;
using conformance::compare::CompareFinding;
using conformance::compare::CompareResult;
using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Seeds {
  std::uint64_t first = 0, count = 0;  ///< 0: no end
};

std::uint64_t seed_in(std::string_view text, const std::string& all) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--seeds {}: expected A..B or one number, as 0..9999", all));
  }
  return value;
}

Seeds seeds_of(const std::string& text) {
  if (text.empty()) {
    return {};
  }
  std::size_t const dots = text.find("..");
  std::string_view const view(text);
  std::uint64_t const first = seed_in(view.substr(0, dots), text);
  std::uint64_t const last =
      dots == std::string::npos ? first : seed_in(view.substr(dots + 2), text);
  if (last < first) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--seeds {}: the first seed is greater than the last: did you mean "
                              "{}..{}?",
                              text, last, first));
  }
  return {first, last - first + 1};
}

/// Our own stack as a device; empty if it is not built.
fs::path own_device() {
  for (fs::path const& path : conformance::found_devices()) {
    if (conformance::device_name(path) == "lockstep") {
      return path;
    }
  }
  return {};
}

std::string speed_of(const ComparedDevice& device) {
  return device.seconds > 0 ? grouped(static_cast<std::uint64_t>(
                                  static_cast<double>(device.inputs) / device.seconds))
                            : "";
}

std::uint64_t findings_of(const CompareResult& result, const std::string& device) {
  std::uint64_t out = 0;
  for (CompareFinding const& finding : result.findings) {
    out += finding.device == device ? 1 : 0;
  }
  return out;
}

std::string file_name(const CompareFinding& finding, std::size_t repeated) {
  return finding.device + "-" + std::string(conformance::compare::name_of_rule(finding.rule)) +
         (repeated == 0 ? "" : fmt::format("-{}", repeated + 1));
}

/// Writes scripts and captures; returns the script's path of each finding, empty without one.
std::vector<std::string> save_scripts(const CompareVerbOptions& options,
                                      const CompareResult& result) {
  std::vector<std::string> out;
  std::map<std::string, std::size_t> used;
  for (CompareFinding const& finding : result.findings) {
    out.emplace_back();
    if (options.out.empty() || finding.script.empty()) {
      continue;
    }
    std::string const key = file_name(finding, 0);
    std::string const base = (fs::path(options.out) / file_name(finding, used[key]++)).string();
    out.back() = base + ".pkt";
    save_file(out.back(), finding.script);
    save_file(base + ".pcapng", finding.capture);
  }
  return out;
}

std::string text_of(const CompareFinding& finding, const std::string& script) {
  std::string out = fmt::format("{}: {}: {} ({})\n  {}\n", finding.device,
                                conformance::compare::name_of_rule(finding.rule),
                                conformance::compare::words_of_rule(finding.rule),
                                conformance::compare::clause_of_rule(finding.rule), finding.line);
  out += finding.inputs == 0 ? "  first "
                             : fmt::format("  in {} inputs, first ", grouped(finding.inputs));
  out += fmt::format("`lockstep compare --devices {} --seeds {}`\n", finding.device, finding.seed);
  if (!script.empty()) {
    out += fmt::format("  {}\n", script);
  }
  if (!finding.why_no_script.empty()) {
    out += "  no script: " + finding.why_no_script + "\n";
  }
  std::string const body =
      finding.script.empty() ? conformance::compare::text_of(finding.smallest) : finding.script;
  for (std::size_t at = 0; at < body.size();) {
    std::size_t const end = body.find('\n', at);
    out += "    " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

std::string table_of(const CompareResult& result) {
  TextTable table({{"device", TextTable::Align::left},
                   {"inputs", TextTable::Align::right},
                   {"a second a core", TextTable::Align::right},
                   {"findings", TextTable::Align::right},
                   {"differ", TextTable::Align::right}});
  for (ComparedDevice const& device : result.devices) {
    bool const out = !device.left_out.empty();
    table.add({device.name, out ? "left out: " + device.left_out : grouped(device.inputs),
               out ? "" : speed_of(device),
               out ? "" : fmt::format("{}", findings_of(result, device.name)),
               out ? "" : grouped(device.differing)});
  }
  return table.text(terminal_columns());
}

ordered_json json_of(const CompareResult& result, const std::vector<std::string>& scripts) {
  ordered_json out;
  out["devices"] = ordered_json::array();
  for (ComparedDevice const& device : result.devices) {
    ordered_json one{{"device", device.name}};
    if (device.left_out.empty()) {
      one["inputs"] = device.inputs;
      one["processor_seconds"] = device.seconds;
      one["findings"] = findings_of(result, device.name);
      one["differing"] = device.differing;
    } else {
      one["left_out"] = device.left_out;
    }
    out["devices"].push_back(std::move(one));
  }
  out["findings"] = ordered_json::array();
  for (std::size_t i = 0; i < result.findings.size(); ++i) {
    CompareFinding const& finding = result.findings[i];
    ordered_json one{{"device", finding.device},
                     {"rule", conformance::compare::name_of_rule(finding.rule)},
                     {"clause", conformance::compare::clause_of_rule(finding.rule)},
                     {"words", conformance::compare::words_of_rule(finding.rule)},
                     {"detail", finding.line},
                     {"inputs", finding.inputs},
                     {"seed", finding.seed},
                     {"input", conformance::compare::text_of(finding.smallest)}};
    if (finding.script.empty()) {
      one["no_script"] = finding.why_no_script;
    } else {
      one["script"] = finding.script;
    }
    if (!scripts[i].empty()) {
      one["file"] = scripts[i];
    }
    out["findings"].push_back(std::move(one));
  }
  return out;
}

}  // namespace

Duration compare_time(const std::string& text) {
  bool const minutes = text.ends_with('m');
  auto const time = parse_duration(minutes ? text + "in" : text);
  if (!time || time->ns == 0) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--time {}: expected a time, as 30s or 10m", text));
  }
  return *time;
}

std::string compare_markdown(const CompareVerbOptions& options, const CompareResult& result) {
  std::string names;
  for (std::string const& device : options.devices) {
    names += (names.empty() ? "" : ",") + device;
  }
  std::string out = fmt::format(
      "# Which rules devices break\n\n"
      "`README.md` explains the words. This command makes the page:\n\n"
      "```sh\nlockstep compare --devices {} {} {} --markdown FILE\n```\n\n"
      "| device | inputs | findings | inputs with another outcome than the first device |\n"
      "|---|---|---|---|\n",
      names, options.seeds.empty() ? "--time" : "--seeds",
      options.seeds.empty() ? options.time : options.seeds);
  for (ComparedDevice const& device : result.devices) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", device.name,
                       device.left_out.empty() ? grouped(device.inputs) : device.left_out,
                       findings_of(result, device.name), grouped(device.differing));
  }
  out += "\n| device | rule | clause | what | inputs | first seed |\n|---|---|---|---|---|---|\n";
  for (CompareFinding const& finding : result.findings) {
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", finding.device,
                       conformance::compare::name_of_rule(finding.rule),
                       conformance::compare::clause_of_rule(finding.rule),
                       conformance::compare::words_of_rule(finding.rule),
                       finding.inputs == 0 ? "" : grouped(finding.inputs), finding.seed);
  }
  return out;
}

int run_compare_verb(const CompareVerbOptions& options) {
  Seeds const seeds = seeds_of(options.seeds);
  auto const began = Clock::now();
  auto const most =
      std::chrono::nanoseconds(options.time.empty() ? 0 : compare_time(options.time).ns);
  auto const json = file_if_named(options.json), markdown = file_if_named(options.markdown);
  conformance::compare::CompareOptions work;
  for (std::string const& device : options.devices) {
    work.devices.push_back(conformance::device_path(device));
  }
  work.ours = own_device();
  work.first_seed = seeds.first;
  work.seeds = seeds.count;
  Progress progress;
  work.goes_on = [&](std::uint64_t done) {
    auto const passed = Clock::now() - began;
    std::string const words = fmt::format("{} inputs", grouped(done));
    if (seeds.count != 0) {
      progress.draw(done, seeds.count, words);
    } else {
      progress.draw(static_cast<std::uint64_t>(passed / std::chrono::milliseconds(1)),
                    static_cast<std::uint64_t>(most / std::chrono::milliseconds(1)), words);
    }
    return seeds.count != 0 || passed < most;
  };
  work.shrinks = [&](const std::string& what) { progress.draw(1, 1, "making small: " + what); };
  CompareResult const result = conformance::compare::compare_devices(work);
  progress.clear();
  std::vector<std::string> const scripts = save_scripts(options, result);
  for (std::size_t i = 0; i < result.findings.size(); ++i) {
    fmt::print("{}\n", text_of(result.findings[i], scripts[i]));
  }
  fmt::print("{}", table_of(result));
  keep_text(json.get(), json_text(json_of(result, scripts)));
  keep_text(markdown.get(), compare_markdown(options, result));
  return static_cast<int>(result.findings.empty() ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::tools
