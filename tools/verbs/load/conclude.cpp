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
  fmt::print("{}{}", load_text(result), last);
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
  bool is_fine = true;
  for (const std::string& each : findings) {
    if (!each.empty()) {
      fmt::print("{}\n", each);
      is_fine = false;
    }
  }
  return static_cast<int>(is_fine ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::tools
