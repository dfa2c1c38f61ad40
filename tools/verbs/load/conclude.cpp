// Decides whether a load is a finding.
#include "tools/verbs/load/conclude.hpp"

#include <fmt/core.h>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

/// Answers that are wrong under any load.
std::string wrong_answers(const load::Counters& counters) {
  for (load::Fault const fault : {load::Fault::malformed, load::Fault::wrong_length,
                                  load::Fault::wrong_body, load::Fault::unasked}) {
    if (counters.faults[static_cast<std::uint32_t>(fault)] != 0) {
      return fmt::format(
          "errors include {}: the server's answers or our checks are wrong; a capture "
          "(--record, or --pcapng with --sim) shows which",
          name_of(fault));
    }
  }
  return {};
}

/// More connections failed than were established: the load is not the one that was asked for.
std::string no_connections(const load::Counters& counters) {
  std::uint64_t failed = 0;
  std::string names;
  for (load::Fault const fault : {load::Fault::refused, load::Fault::unreachable,
                                  load::Fault::no_connect, load::Fault::no_port}) {
    std::uint64_t const count = counters.faults[static_cast<std::uint32_t>(fault)];
    failed += count;
    names +=
        count == 0 ? "" : fmt::format("{}{} {}", names.empty() ? "" : ", ", count, name_of(fault));
  }
  return failed <= counters.connections
             ? std::string()
             : fmt::format(
                   "could not connect: {} attempts failed ({}), {} connections were "
                   "established: check the server's limits and the way to it",
                   failed, names, counters.connections);
}

}  // namespace

Conclusion::Conclusion(const LoadOptions& options) {
  for (const std::string& text : options.fail_if) {
    limits_.emplace_back(text);
  }
  if (!options.json.empty()) {
    json_ = std::make_unique<AtomicFile>(options.json);
  }
}

int Conclusion::draw(const LoadResult& result, const std::string& json, const std::string& last) {
  std::string const unconnected = no_connections(result.counters);
  fmt::print("{}{}{}{}", unconnected, unconnected.empty() ? "" : "\n", load_text(result), last);
  if (json_ != nullptr) {
    json_->put(load_json(result, json));
    json_->keep();
  }
  std::vector<std::string> findings;
  for (const Limit& limit : limits_) {
    findings.push_back(limit.broken_by(result));
  }
  findings.push_back(wrong_answers(result.counters));
  if (result.counters.answered == 0) {
    findings.emplace_back("no request was answered: see the errors above");
  }
  bool is_fine = unconnected.empty();
  for (const std::string& each : findings) {
    if (!each.empty()) {
      fmt::print("{}\n", each);
      is_fine = false;
    }
  }
  return static_cast<int>(is_fine ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::tools
