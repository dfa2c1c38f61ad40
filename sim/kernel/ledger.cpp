// Records connections, finds them, and computes results.
#include "sim/kernel/ledger.hpp"

#include <algorithm>

namespace lockstep::sim {
namespace {

std::uint64_t hash_of(const FourTuple& tuple, Sequence iss) {
  TableHash hash({});
  hash.add(tuple.local.address.high).add(tuple.local.address.low);
  hash.add(tuple.remote.address.high).add(tuple.remote.address.low);
  hash.add(std::uint64_t{tuple.local.port.value} << 16 | tuple.remote.port.value);
  hash.add(iss.value);
  return hash.finish();
}

}  // namespace

void RttSample::add(Duration rtt) {
  if (rtt < least_) {
    least_ = rtt;
  }
  if (seen_ % stride_ == 0) {
    if (kept_.size() == kept_max) {
      for (std::uint32_t i = 0; i < kept_max / 2; ++i) {
        kept_[i] = kept_[i * 2];
      }
      kept_.resize(kept_max / 2);
      stride_ *= 2;
    }
    if (seen_ % stride_ == 0) {
      kept_.push_back(rtt);
    }
  }
  ++seen_;
}

RttSample::Summary RttSample::summary() const {
  if (kept_.empty()) {
    return {};
  }
  std::vector<Duration> sorted = kept_;
  std::sort(sorted.begin(), sorted.end());
  auto const at = [&sorted](std::size_t percent) {
    return sorted[(sorted.size() - 1) * percent / 100];
  };
  return {least_, at(50), at(99), seen_};
}

std::uint64_t goodput_bits_per_second(const FlowEnd& to) {
  std::uint64_t const ns = to.last_read.since(to.established).ns;
  if (ns == 0) {
    return 0;
  }
  // Scaled so that neither product overflows: by nanoseconds while the number of bits is small.
  std::uint64_t const bits = to.read * 8;
  if (bits < std::uint64_t{18'000'000'000}) {
    return bits * 1'000'000'000 / ns;
  }
  std::uint64_t const ms = ns / 1'000'000;
  return ms == 0 ? 0 : bits / ms * 1'000;
}

std::uint32_t Ledger::find_place(const FourTuple& tuple, Sequence iss) const {
  auto const mask = static_cast<std::uint32_t>(places_.size() - 1);
  auto at = static_cast<std::uint32_t>(hash_of(tuple, iss)) & mask;
  while (places_[at] != FlowId{}) {
    Flow const& flow = flows_[places_[at].value];
    if (flow.tuple == tuple && flow.iss == iss) {
      break;
    }
    at = (at + 1) & mask;
  }
  return at;
}

void Ledger::grow() {
  places_.assign(places_.empty() ? 64 : places_.size() * 2, FlowId{});
  for (const Flow& flow : flows_) {
    places_[find_place(flow.tuple, flow.iss)] = flow.id;
  }
}

FlowId Ledger::open(const Opening& opening) {
  if ((flows_.size() + 1) * 2 > places_.size()) {
    grow();
  }
  FlowId const id{static_cast<std::uint32_t>(flows_.size())};
  Flow flow;
  flow.id = id;
  flow.app = opening.app;
  flow.tuple = opening.tuple;
  flow.iss = opening.iss;
  flow.foreign = opening.foreign;
  // Of two connections with the same key, the later one is found.
  places_[find_place(opening.tuple, opening.iss)] = id;
  flows_.push_back(flow);
  return id;
}

FlowId Ledger::find(const FourTuple& tuple_of_opener, Sequence iss) const {
  return places_.empty() ? FlowId{} : places_[find_place(tuple_of_opener, iss)];
}

}  // namespace lockstep::sim
