// Writes verdicts as JSON, and the packets of a replay with comments on the core's state.
#include "conformance/replay/export.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "conformance/replay/report.hpp"
#include "conformance/replay/sentences.hpp"

namespace lockstep::conformance {
namespace {

std::string comment_of(const View& view) {
  if (!view.info.exists) {
    return fmt::format("{}", tcp::name_of(view.state));
  }
  const ConnectionInfo& info = view.info;
  return fmt::format("{}: cwnd {}, ssthresh {}, in flight {}, rto {}", tcp::name_of(view.state),
                     info.cwnd.count, info.ssthresh.count, info.send.nxt.since(info.send.una).count,
                     time_text(info.rto));
}

std::string cause_of(const Replayed& replayed, const LiveSent& sent) {
  if (sent.by_timer) {
    return fmt::format("the {} timer", tcp::name_of(sent.timer));
  }
  if (sent.steps == 0) {
    return "nothing";
  }
  const Step& step = replayed.script.steps[sent.steps - 1];
  return step.kind == Step::Kind::call ? fmt::format("the call {}", name_of(step.act))
                                       : fmt::format("packet {} of the capture", step.packet);
}

void put_violations(const Verdict& verdict, nlohmann::ordered_json& flow) {
  for (const Violation& violation : verdict.violations) {
    flow["violations"].push_back({{"packet", violation.packet},
                                  {"clause", violation.clause},
                                  {"text", violation.text},
                                  {"sentence", sentence_of(violation.clause)},
                                  {"count", violation.count}});
  }
}

}  // namespace

nlohmann::ordered_json to_json(const Replayed& replayed) {
  const Verdict& verdict = replayed.verdict;
  nlohmann::ordered_json out;
  out["device"] = tools::text_of(replayed.script.device);
  out["peer"] = tools::text_of(replayed.script.peer);
  out["verdict"] = name_of(verdict.judgement);
  if (!verdict.reason.empty()) {
    out["reason"] = verdict.reason;
  }
  if (!verdict.rules.empty()) {
    out["rules"] = verdict.rules;
  }
  if (verdict.divergence) {
    out["clause"] = verdict.divergence->clause;
    out["divergence"] = verdict.divergence->text;
    out["diff"] = divergence_text(replayed);
  }
  put_violations(verdict, out);
  out["notes"] = replayed.script.notes;
  out["packets_played"] = replayed.run.packets_in;
  out["packets_captured"] = replayed.script.sent.size();
  out["packets_sent"] = replayed.run.sent.size();
  out["virtual_time_ns"] = replayed.run.virtual_time.ns;
  return out;
}

void add_later(const Verdict& verdict, const Verdict& later, nlohmann::ordered_json& flow) {
  std::string_view const judgement = name_of(verdict.judgement);
  if (flow["verdict"] != judgement) {
    for (std::string const key : {"reason", "rules", "diff", "violations"}) {
      flow.erase(key);
    }
  }
  flow["verdict"] = judgement;
  flow["clause"] = verdict.divergence->clause;
  flow["divergence"] = verdict.divergence->text;
  put_violations(later, flow);
}

void add_packets(const Replayed& replayed, tools::PcapngWriter& out) {
  struct Entry {
    Instant at;
    std::size_t order, index;
    const std::vector<std::byte>* bytes;
    std::string comment;
  };
  std::vector<Entry> all;
  for (std::size_t i = 0; i < replayed.run.steps.size(); ++i) {
    const StepRecord& record = replayed.run.steps[i];
    if (record.done && !record.bytes.empty()) {
      all.push_back({record.at, 2 * i, all.size(), &record.bytes,
                     fmt::format("packet {} of the capture; before it {}",
                                 replayed.script.steps[i].packet, comment_of(record.before))});
    }
  }
  for (const LiveSent& sent : replayed.run.sent) {
    all.push_back({sent.at, 2 * sent.steps - (sent.steps == 0 ? 0u : 1u), all.size(), &sent.bytes,
                   fmt::format("by {}; {}", cause_of(replayed, sent), comment_of(sent.view))});
  }
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at < b.at : a.order != b.order ? a.order < b.order : a.index < b.index;
  });
  for (const Entry& entry : all) {
    out.add(entry.at, *entry.bytes, entry.comment);
  }
}

}  // namespace lockstep::conformance
