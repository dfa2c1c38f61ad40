// Makes a script of a captured connection: expects the device's packets and injects the peer's.
#include "conformance/script/from_capture.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "conformance/replay/live.hpp"
#include "conformance/script/capture_writer.hpp"
#include "conformance/script/packet.hpp"
#include "conformance/script/run.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance::script {
namespace {

namespace flag = tools::tcp_flag;

constexpr std::uint64_t lines_max = 2'000'000;  // total over all attempts

/// The connection, and the side that our stack replaces.
struct Chosen {
  conformance::Flow flow;
  Endpoint device;
};

bool opens(const conformance::Flow& flow) {
  return !flow.segments.empty() && flow.segments.front().any(flag::syn);
}

Chosen choose(const std::string& path, const std::optional<IpAddress>& local) {
  CaptureFlows const capture = read_flows(path);
  for (conformance::Flow const& flow : capture.flows) {
    bool const first = local && flow.first.address == *local;
    bool const second = local && flow.second.address == *local;
    if (opens(flow) && (!local || first || second)) {
      return {flow, first ? flow.first : second ? flow.second : choose_device(flow)};
    }
  }
  throw tools::Failure(
      tools::ExitCode::bad_input,
      fmt::format("{}: no TCP connection{} begins in this capture, expected one with its SYN: name "
                  "another capture{}",
                  path, local ? " of " + tools::text_of(*local) : "",
                  local ? ", or another --local" : ""));
}

/// A way of writing the script; the first one that passes is used.
struct Attempt {
  bool normalised = false;  // artefacts of capturing are removed
  Manner manner;
};

std::vector<Attempt> attempts() {
  constexpr std::string_view profiles[] = {"default", "rfc", "linux", "freebsd"};
  std::vector<Attempt> out;
  for (Closeness const closeness : {Closeness::windows, Closeness::instants, Closeness::order}) {
    for (bool const normalised : {false, true}) {
      for (std::string_view const profile : profiles) {
        for (Reading const reading : {Reading::at_once, Reading::late}) {
          for (int const bits : {0b10, 0b11, 0b00, 0b01}) {
            bool const nagle = (bits & 1) != 0;
            bool const delayed = (bits & 2) != 0;
            out.push_back({normalised, {std::string(profile), closeness, reading, nagle, delayed}});
          }
        }
      }
    }
  }
  return out;
}

/// A script that was run.
struct Tried {
  Written written;
  Ran ran;
  std::uint64_t packet = 0;  // of the capture, where the run differs
  std::string why_not;       // why it cannot be run
};

Tried try_out(const conformance::Script& script, const Manner& manner, Arena& arena) {
  Tried out;
  out.written = write_script(script, manner);
  Overrides overrides;
  overrides.referee = false;  // the capture alone decides
  try {
    out.ran = run(parse("script", out.written.text, {}), overrides, arena);
  } catch (const tools::Failure& failure) {
    out.ran.verdict = Verdict::bad;
    out.why_not = script.cannot_tell.empty() ? failure.what() : script.cannot_tell;
    return out;
  }
  auto const line = static_cast<std::size_t>(out.ran.finding.place.line);
  auto const& packets = out.written.packets;
  for (std::size_t i = std::min(line, packets.size()); i > 0 && out.packet == 0; --i) {
    out.packet = packets[i - 1];
  }
  return out;
}

/// "packet 12: our stack ...": what was expected, and what was sent.
std::string difference(const std::string& path, const Tried& tried) {
  if (tried.ran.verdict == Verdict::bad) {
    return fmt::format("{}: this connection cannot be written as a script: {}", path,
                       tried.why_not);
  }
  Finding const& finding = tried.ran.finding;
  std::string fields;
  for (Row const& row : finding.rows) {
    if (row.differs) {
      fields += fmt::format(
          "{}{}: {} in the capture, {} by our stack", fields.empty() ? ": " : "; ", row.field,
          row.expected.empty() ? "none" : row.expected, row.actual.empty() ? "none" : row.actual);
    }
  }
  return fmt::format("{}: our stack differs at packet {} (line {} of the script): {}{}", path,
                     tried.packet, finding.place.line, finding.what, fields);
}

}  // namespace

FromCapture from_capture(const std::string& path, const std::optional<IpAddress>& local) {
  Chosen const chosen = choose(path, local);
  conformance::Flow normalised = chosen.flow;
  normalise(normalised);
  conformance::Script const scripts[] = {
      make_script(chosen.flow, chosen.flow, chosen.device, nullptr),
      make_script(normalised, normalised, chosen.device, nullptr)};
  Arena arena;
  std::optional<Tried> best;
  std::uint64_t lines = 0;
  for (Attempt const& attempt : attempts()) {
    Tried tried = try_out(scripts[attempt.normalised ? 1 : 0], attempt.manner, arena);
    bool const passes = tried.ran.verdict == Verdict::passed;
    bool const ran = tried.ran.verdict != Verdict::bad;
    if (passes || !best || (ran && tried.ran.events > best->ran.events)) {
      best = std::move(tried);
    }
    lines += best->written.packets.size();
    if (passes || lines > lines_max) {
      break;
    }
  }
  FromCapture out;
  out.packets = chosen.flow.segments.size();
  out.text = fmt::format("// Of {}: {} and {}, seen from {}.\n{}",
                         std::filesystem::path(path).filename().string(),
                         tools::text_of(chosen.flow.first), tools::text_of(chosen.flow.second),
                         tools::text_of(chosen.device), best->written.text);
  if (best->ran.verdict != Verdict::passed) {
    // One line was inserted above after the run.
    ++best->ran.finding.place.line;
    out.difference = difference(path, *best);
  }
  return out;
}

}  // namespace lockstep::conformance::script
