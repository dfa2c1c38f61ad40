// Balances the frames of each flow with unsigned numbers, none of which may become negative.
#include "tools/verbs/testbed/account.hpp"

#include <algorithm>
#include <set>

namespace lockstep::tools {
namespace {

std::uint64_t frames_of(const FramesByFlow& flows, const Flow& flow) {
  auto const found = flows.find(flow);
  return found == flows.end() ? 0 : found->second;
}

FrameBalance balance_of(std::uint64_t offered, std::uint64_t delivered) {
  FrameBalance balance{.offered = offered, .delivered = delivered};
  balance.lost = offered > delivered ? offered - delivered : 0;
  balance.injected = delivered > offered ? delivered - offered : 0;
  return balance;
}

void add(FrameBalance& sum, const FrameBalance& each) {
  sum.offered += each.offered;
  sum.injected += each.injected;
  sum.delivered += each.delivered;
  sum.lost += each.lost;
}

std::set<Flow> flows_of(const Counted::Direction& direction) {
  std::set<Flow> flows;
  for (const Tally* const tally : {&direction.offered, &direction.delivered}) {
    for (auto const& [flow, frames] : tally->flows) {
      flows.insert(flow);
    }
  }
  return flows;
}

/// Frames that a tally has counted outside its flows.
std::uint64_t beyond(const Tally& tally) {
  std::uint64_t in_flows = 0;
  for (auto const& [flow, frames] : tally.flows) {
    in_flows += frames;
  }
  return std::max(tally.frames, in_flows) - std::min(tally.frames, in_flows);
}

FlowBalance judge_flow(const Counted::Direction& direction, const Flow& flow,
                       const std::vector<Cause>& causes, Reconciled& out) {
  FlowBalance balance{.direction = direction.name, .flow = flow};
  balance.frames = balance_of(frames_of(direction.offered.flows, flow),
                              frames_of(direction.delivered.flows, flow));
  std::uint64_t known = 0;
  for (const Cause& cause : causes) {
    if (std::uint64_t const frames = frames_of(cause.flows, flow); frames != 0) {
      balance.causes.push_back({cause.name, frames, {}});
      known += frames;
    }
  }
  out.contradicted = out.contradicted || known > balance.frames.lost;
  balance.other = balance.frames.lost - std::min(known, balance.frames.lost);
  return balance;
}

}  // namespace

bool Reconciled::has_strays() const {
  return std::any_of(directions.begin(), directions.end(),
                     [](const Direction& direction) { return direction.without_flow != 0; });
}

Reconciled reconcile(const Counted& counted) {
  Reconciled out;
  for (const Counted::Direction& direction : counted.directions) {
    Reconciled::Direction sum{.name = direction.name};
    for (const Flow& flow : flows_of(direction)) {
      out.flows.push_back(judge_flow(direction, flow, counted.causes, out));
      add(sum.frames, out.flows.back().frames);
    }
    sum.without_flow = beyond(direction.offered) + beyond(direction.delivered);
    out.lost += sum.frames.lost;
    out.directions.push_back(sum);
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
