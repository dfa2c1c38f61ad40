// Finds where devices break a rule: plays inputs on all, and makes each finding small.
#include "conformance/compare/compare.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "conformance/compare/play.hpp"
#include "conformance/compare/script_text.hpp"
#include "conformance/compare/shrink.hpp"
#include "conformance/script/run.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::compare {
namespace {

constexpr std::uint64_t round = 1'000;  // seeds
constexpr std::uint32_t shrink_tries = 800;
constexpr std::uint32_t scripted_tries = 100;  // each runs scripts, too
constexpr std::uint32_t hanging_tries = 60;    // each may take ...
constexpr std::chrono::milliseconds hanging_patience(250);
constexpr std::uint32_t crashes_most = 8;  // that are told apart, of one device

/// What one device has shown so far.
struct Shown {
  ContainedDevice device;
  ComparedDevice* of = nullptr;
  std::map<std::size_t, CompareFinding> findings;  ///< by rule
  std::vector<std::uint64_t> crashes;              ///< the first seeds
};

void count_findings(Shown& shown, const std::vector<Seen>& seen, std::uint64_t seed) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (std::size_t rule = 0; rule < all_rules; ++rule) {
      if (!seen[i].broken.test(rule)) {
        continue;
      }
      CompareFinding& finding = shown.findings[rule];
      if (finding.inputs++ == 0) {
        finding.device = shown.device.name();
        finding.rule = rule;
        finding.seed = seed + i;
      }
      if (rule == index_of(CompareRule::device_broken) && shown.crashes.size() < crashes_most) {
        shown.crashes.push_back(seed + i);
      }
    }
  }
}

void count_differences(const std::vector<Seen>& first, const std::vector<Seen>& other,
                       ComparedDevice& device) {
  for (std::size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
    bool const clean = first[i].broken.none() && other[i].broken.none();
    device.differing += clean && first[i].outcome != other[i].outcome ? 1 : 0;
  }
}

/// Lines of a text.
std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

script::Ran run_script(const std::string& text, const std::filesystem::path& device) {
  script::Overrides overrides;
  overrides.device = device;
  script::Arena arena;
  return script::run(script::parse("compare.pkt", text, {}), overrides, arena);
}

/// Whether our stack passes the script and the device fails it, not before the last step.
std::optional<script::Ran> tells_apart(const std::string& text, int last_step,
                                       const std::filesystem::path& device) {
  if (run_script(text, {}).verdict != script::Verdict::passed) {
    return std::nullopt;
  }
  script::Ran ran = run_script(text, device);
  bool const failed = ran.verdict == script::Verdict::failed;
  return failed && ran.finding.place.line >= last_step ? std::optional(std::move(ran))
                                                       : std::nullopt;
}

/// Takes off last lines that are not needed.
void trim(CompareFinding& finding, int last_step, const std::filesystem::path& device) {
  for (;;) {
    std::size_t const cut = finding.script.rfind('\n', finding.script.size() - 2);
    std::string const text = finding.script.substr(0, cut + 1);
    bool const whole = static_cast<int>(lines_of(text)) >= last_step;
    auto ran = whole ? tells_apart(text, last_step, device) : std::nullopt;
    if (!ran) {
      return;
    }
    finding.script = text;
    finding.capture = std::move(ran->capture);
  }
}

/// Writes the script that our stack passes and the device fails.
void add_script(CompareFinding& finding, const std::filesystem::path& device,
                const std::filesystem::path& ours) {
  std::unique_ptr<Host> const host = open_host(ours);
  Played const played = play(*host, finding.smallest, true, true);
  std::string const heading = fmt::format("// {}: {}, {}", finding.device,
                                          name_of_rule(finding.rule), clause_of_rule(finding.rule));
  bool const resends = finding.rule == index_of(CompareRule::never_retransmitted);
  constexpr ScriptTail tails[] = {
      {false, false, false}, {false, true, false}, {true, false, false}, {true, true, false}};
  finding.why_no_script = "no script that our stack passes shows it";
  finding.script.clear();
  finding.capture.clear();
  for (ScriptTail tail : tails) {
    tail.resend = resends;
    auto const [text, last_step] = script_of(heading, finding.smallest, played, tail);
    auto ran = tells_apart(text, last_step, device);
    if (!ran) {
      continue;
    }
    finding.script = text;
    finding.capture = std::move(ran->capture);
    trim(finding, last_step, device);
    std::size_t const lines = lines_of(finding.script);
    if (lines <= script_lines_most) {
      finding.why_no_script.clear();
      return;
    }
    finding.script.clear();
    finding.capture.clear();
    finding.why_no_script = fmt::format("its script would have {} lines", lines);
  }
}

/// The same crash or hang, whatever the patience.
std::string_view cause_of(std::string_view line) {
  return line.substr(0, line.find("it has not answered"));
}

/// Shrinks the first input of a finding; if the smallest has no script, to the smallest that has.
void make_small(CompareFinding& finding, const ContainedDevice& found_on,
                const std::filesystem::path& ours) {
  std::size_t const rule = finding.rule;
  Input const first = draw_input(finding.seed);
  std::string const line = found_on.play_one(first, rule).line;
  bool const broken = rule == index_of(CompareRule::device_broken);
  bool const hangs = broken && cause_of(line) != line;
  ContainedDevice const hanging(found_on.path(), hanging_patience);
  ContainedDevice const& device = hangs ? hanging : found_on;
  const auto fails = [&](const Input& input) {
    ContainedDevice::Detail const detail = device.play_one(input, rule);
    bool const same = !broken || cause_of(detail.line) == cause_of(line);
    return detail.seen.broken.test(rule) && same;
  };
  const auto shows = [&](const Input& input) {
    try {
      finding.smallest = input;
      add_script(finding, device.path(), ours);
    } catch (const tools::Failure& failure) {
      finding.why_no_script = failure.what();
    }
    return !finding.script.empty();
  };
  Input const smallest = shrink_input(first, fails, hangs ? hanging_tries : shrink_tries);
  if (hangs) {
    finding.why_no_script = "the device hangs, which no script waits for";
  } else if (device.is_ours()) {
    finding.why_no_script = "our own stack breaks the rule, so it cannot write the script";
  } else if (ours.empty()) {
    finding.why_no_script = "our own stack is not built as a device";
  } else if (!shows(smallest)) {
    std::string const why = finding.why_no_script;
    const auto both = [&](const Input& input) { return fails(input) && shows(input); };
    Input const other = both(first) ? shrink_input(first, both, scripted_tries) : smallest;
    if (shows(other)) {
      finding.line = device.play_one(other, rule).line;
      return;
    }
    finding.why_no_script = why;
  }
  finding.smallest = smallest;
  finding.line = device.play_one(smallest, rule).line;
}

/// Crashes with other messages are findings of their own.
void tell_crashes_apart(Shown& shown, std::vector<CompareFinding>& into) {
  std::size_t const rule = index_of(CompareRule::device_broken);
  auto const found = shown.findings.find(rule);
  if (found == shown.findings.end()) {
    return;
  }
  std::map<std::string, CompareFinding> by_line;
  for (std::uint64_t const seed : shown.crashes) {
    auto const [one, added] =
        by_line.try_emplace(shown.device.play_one(draw_input(seed), rule).line, found->second);
    one->second.seed = added ? seed : one->second.seed;
  }
  if (by_line.size() > 1) {
    for (auto& [line, one] : by_line) {
      one.inputs = 0;  // which of them each input showed is not known
    }
  }
  shown.findings.erase(found);
  for (auto& [line, one] : by_line) {
    into.push_back(std::move(one));
  }
}

}  // namespace

CompareResult compare_devices(const CompareOptions& options) {
  CompareResult out;
  std::vector<Shown> all;
  out.devices.reserve(options.devices.size());
  for (std::filesystem::path const& path : options.devices) {
    ContainedDevice device(path);
    out.devices.push_back({device.name(), device.why_left_out(), 0, 0, 0});
    if (out.devices.back().left_out.empty()) {
      all.push_back({std::move(device), &out.devices.back(), {}, {}});
    }
  }
  std::uint64_t done = 0;
  while (!all.empty() && (options.seeds == 0 || done < options.seeds) && options.goes_on(done)) {
    std::uint64_t const count = options.seeds == 0 ? round : std::min(round, options.seeds - done);
    std::uint64_t const seed = options.first_seed + done;
    std::optional<std::vector<Seen>> first;
    for (Shown& shown : all) {
      Batch batch = shown.device.play(static_cast<std::uint32_t>(count),
                                      [seed](std::uint32_t i) { return draw_input(seed + i); });
      shown.of->inputs += count;
      shown.of->seconds += batch.seconds;
      count_findings(shown, batch.seen, seed);
      if (first) {
        count_differences(*first, batch.seen, *shown.of);
      } else {
        first = std::move(batch.seen);
      }
    }
    done += count;
  }
  for (Shown& shown : all) {
    std::vector<CompareFinding> findings;
    tell_crashes_apart(shown, findings);
    for (auto& [rule, finding] : shown.findings) {
      findings.push_back(std::move(finding));
    }
    for (CompareFinding& finding : findings) {
      options.shrinks(fmt::format("{}: {}", finding.device, name_of_rule(finding.rule)));
      make_small(finding, shown.device, options.ours);
      out.findings.push_back(std::move(finding));
    }
  }
  return out;
}

}  // namespace lockstep::conformance::compare
