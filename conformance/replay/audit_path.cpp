// Path MTU: after an ICMP message has reported the path's MTU, no larger packet may be sent.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "conformance/replay/audit.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {

std::optional<std::uint32_t> reported_path_mtu(const tools::IcmpError& error) {
  auto const type = tools::octet_at(error.message, 0);
  if (error.sender.is_v4()) {
    bool const needs = type == 3 && tools::octet_at(error.message, 1) == 4;
    std::uint32_t const octets = tools::word_at(error.message, 6);
    return needs && octets >= 68 ? std::optional(octets) : std::nullopt;
  }
  std::uint32_t const octets = tools::long_at(error.message, 4);
  return type == 2 && octets >= 1280 ? std::optional(octets) : std::nullopt;
}

std::vector<Breach> audit_path(const AuditInput& input, const Trace& trace) {
  std::vector<Breach> out;
  std::optional<std::uint32_t> most;
  std::size_t steps = 0;
  for (std::size_t i = 0; i < trace.size() && !input.script.inferred; ++i) {
    const tools::Segment& segment = trace[i].segment;
    for (; steps < std::min(trace[i].steps_before, input.script.steps.size()); ++steps) {
      const Step& step = input.script.steps[steps];
      auto const octets =
          step.kind == Step::Kind::icmp ? reported_path_mtu(step.icmp) : std::nullopt;
      most = octets ? std::min(most.value_or(*octets), *octets) : most;
    }
    bool const six = !segment.source.address.is_v4();
    auto const headers = static_cast<std::uint32_t>((six ? 60 : 40) + segment.options.size());
    if (most && segment.data_bytes() != 0 && headers + segment.data_bytes() > *most) {
      out.push_back({trace[i].at,
                     {six ? "8201:PMTU-3" : "1191:PMTU-1"},
                     fmt::format("more than the {} octets of the reported path MTU", *most),
                     i,
                     false});
      return out;
    }
  }
  return out;
}

}  // namespace lockstep::conformance
