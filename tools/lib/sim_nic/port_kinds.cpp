// The ports on which scenarios and cells of the matrix can run, by name.
#include "tools/lib/sim_nic/port_kinds.hpp"

#include <algorithm>

#include "core/units/check.hpp"
#include "tools/lib/sim_nic/mpipe_bench.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"

namespace lockstep::tools {
namespace {

struct Kinds {
  std::vector<PortKind> all{{}, {mpipe_driver, MpipeBench::make, make_mpipe_nic, give_nics}};
  std::string_view usual = all.front().name;
};

Kinds& kinds() {
  static Kinds known;
  return known;
}

}  // namespace

const std::vector<PortKind>& port_kinds() { return kinds().all; }

std::vector<std::string_view> port_names() {
  std::vector<std::string_view> names;
  for (const PortKind& each : port_kinds()) {
    names.push_back(each.name);
  }
  return names;
}

const PortKind& port_kind(std::string_view name) {
  auto const at = std::ranges::find(port_kinds(), name, &PortKind::name);
  CHECK(at != port_kinds().end());
  return *at;
}

void add_port_kind(const PortKind& kind) {
  kinds().all.push_back(kind);
  kinds().usual = kind.name;
}

std::string_view usual_port() { return kinds().usual; }

}  // namespace lockstep::tools
