// What a run measured: per connection, and of all together.
#include "tools/lib/sim_report/measures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "tools/base/output/table.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

/// Both compilers have it; ISO C++ does not.
__extension__ using Wide = unsigned __int128;

int width_of(std::uint64_t value) { return static_cast<int>(std::bit_width(value)); }

}  // namespace

using sim::Flow;
using sim::FlowEnd;
using sim::Side;

// A sum of rates has 53 bits at most, so that a million times its square fits into two words. Rates
// for which that is too few lose their last bits; otherwise nothing is rounded before the end.
std::uint64_t jain_millionths_of(std::span<const std::uint64_t> rates) {
  const std::uint64_t count = rates.size();
  const std::uint64_t largest = count == 0 ? 0 : *std::ranges::max_element(rates);
  if (largest == 0) {
    return 0;
  }
  const int down = std::max(width_of(largest) + width_of(count) - 53, 0);
  Wide sum = 0;
  Wide squares = 0;
  for (std::uint64_t const rate : rates) {
    const Wide share = rate >> down;
    sum += share;
    squares += share * share;
  }
  const Wide divisor = squares * count;
  return static_cast<std::uint64_t>((sum * sum * 1'000'000 + divisor / 2) / divisor);
}

Side busy_side(const Flow& flow) {
  return flow.end(Side::acceptor).written > flow.end(Side::opener).written ? Side::acceptor
                                                                           : Side::opener;
}

std::string endpoint_text(const Endpoint& endpoint) {
  const std::string address = text_of(endpoint.address);
  return endpoint.address.is_v4() ? fmt::format("{}:{}", address, endpoint.port.value)
                                  : fmt::format("[{}]:{}", address, endpoint.port.value);
}

std::string_view outcome_of(const Flow& flow) {
  for (const FlowEnd& end : flow.ends) {
    if (!end.intact) {
      return "WRONG BYTES";
    }
    if (end.begun && end.open) {
      return "open";
    }
    if (end.begun && end.cause != Cause::finished) {
      return name_of(end.cause);
    }
  }
  return flow.end(Side::acceptor).begun ? "finished" : "not accepted";
}

Instant ended(const Flow& flow, Instant now) {
  Instant last{0};
  for (const FlowEnd& end : flow.ends) {
    if (end.begun) {
      last = later(last, end.open ? now : end.ended);
    }
  }
  return last;
}

std::string_view host_of(const sim::Kernel& kernel, const FlowEnd& end) {
  return end.station ? kernel.world().stations[end.host.value].name.view()
                     : kernel.host(end.host).spec().name.view();
}

Totals totals_of(const sim::Kernel& kernel) {
  Totals out;
  std::vector<std::uint64_t> rates;
  Instant first = Instant::never();
  Instant last{0};
  for (const Flow& flow : kernel.ledger().flows()) {
    if (flow.joined || !flow.end(Side::acceptor).begun) {
      continue;
    }
    std::uint64_t rate = 0;
    for (const FlowEnd& end : flow.ends) {
      if (end.begun) {
        first = earlier(first, end.began);
        last = later(last, end.last_read);
        out.octets += end.read;
        rate = std::max(rate, goodput_bits_per_second(end));
      }
    }
    rates.push_back(rate);
  }
  out.connections = rates.size();
  out.jain_millionths = jain_millionths_of(rates);
  FlowEnd all;
  all.read = out.octets;
  all.established = first;
  all.last_read = last;
  out.goodput_bits_per_second = out.connections == 0 ? 0 : goodput_bits_per_second(all);
  return out;
}

std::string totals_text(const sim::Kernel& kernel) {
  const Totals totals = totals_of(kernel);
  if (totals.connections == 0) {
    return "";
  }
  const std::string goodput = rate_text(totals.goodput_bits_per_second);
  return totals.connections == 1
             ? fmt::format("total goodput {}\n", goodput)
             : fmt::format("total goodput {}, Jain's index {}.{:06} of {} connections\n", goodput,
                           totals.jain_millionths / 1'000'000, totals.jain_millionths % 1'000'000,
                           grouped(totals.connections));
}

}  // namespace lockstep::tools
