// Sums and differences of unsigned numbers, none of which may go below nothing.
#include "tools/verbs/testbed/account.hpp"

#include <algorithm>
#include <set>

namespace lockstep::tools {
namespace {

std::uint64_t frames_of(const FramesByFlow& flows, const Flow& flow) {
  auto const found = flows.find(flow);
  return found == flows.end() ? 0 : found->second;
}

Fate fate_of(std::uint64_t offered, std::uint64_t delivered) {
  Fate fate{.offered = offered, .delivered = delivered};
  fate.lost = offered > delivered ? offered - delivered : 0;
  fate.made = delivered > offered ? delivered - offered : 0;
  return fate;
}

void add(Fate& sum, const Fate& each) {
  sum.offered += each.offered;
  sum.made += each.made;
  sum.delivered += each.delivered;
  sum.lost += each.lost;
}

std::set<Flow> flows_of(const Counted::Way& way) {
  std::set<Flow> flows;
  for (const Tally* const tally : {&way.offered, &way.delivered}) {
    for (auto const& [flow, frames] : tally->flows) {
      flows.insert(flow);
    }
  }
  return flows;
}

/// What a tally has counted beyond its flows.
std::uint64_t beyond(const Tally& tally) {
  std::uint64_t in_flows = 0;
  for (auto const& [flow, frames] : tally.flows) {
    in_flows += frames;
  }
  return std::max(tally.frames, in_flows) - std::min(tally.frames, in_flows);
}

FlowFate judge_flow(const Counted::Way& way, const Flow& flow, const std::vector<Cause>& causes,
                    Reconciled& out) {
  FlowFate fate{.way = way.name, .flow = flow};
  fate.fate = fate_of(frames_of(way.offered.flows, flow), frames_of(way.delivered.flows, flow));
  std::uint64_t known = 0;
  for (const Cause& cause : causes) {
    if (std::uint64_t const frames = frames_of(cause.flows, flow); frames != 0) {
      fate.causes.push_back({cause.name, frames, {}});
      known += frames;
    }
  }
  out.contradicted = out.contradicted || known > fate.fate.lost;
  fate.other = fate.fate.lost - std::min(known, fate.fate.lost);
  return fate;
}

}  // namespace

bool Reconciled::has_strays() const {
  return std::any_of(ways.begin(), ways.end(),
                     [](const Way& way) { return way.without_flow != 0; });
}

Reconciled reconcile(const Counted& counted) {
  Reconciled out;
  for (const Counted::Way& way : counted.ways) {
    Reconciled::Way sum{.name = way.name};
    for (const Flow& flow : flows_of(way)) {
      out.flows.push_back(judge_flow(way, flow, counted.causes, out));
      add(sum.fate, out.flows.back().fate);
    }
    sum.without_flow = beyond(way.offered) + beyond(way.delivered);
    out.lost += sum.fate.lost;
    out.ways.push_back(sum);
  }
  for (const Cause& cause : counted.causes) {
    if (cause.frames != 0) {
      out.causes.push_back({cause.name, cause.frames, {}});
      out.explained += cause.frames;
    }
  }
  std::uint64_t const rest = out.lost - std::min(out.lost, out.explained);
  out.others = out.explained - std::min(out.lost, out.explained);
  if (counted.remainder.empty()) {
    out.unexplained = rest;
  } else if (rest != 0) {
    out.causes.push_back({counted.remainder, rest, {}});
    out.explained += rest;
  }
  return out;
}

}  // namespace lockstep::tools
