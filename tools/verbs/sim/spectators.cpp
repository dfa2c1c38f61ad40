// Captures of every node, and the lines that report a run's findings.
#include "tools/verbs/sim/spectators.hpp"

#include <fmt/core.h>

#include "tools/base/text/units.hpp"

namespace lockstep::tools {

Captures::Captures(const std::string& folder, const sim::World& world, sim::Kernel& kernel) {
  if (folder.empty()) {
    return;
  }
  const auto add = [&](sim::Name name, sim::NodeRef node) {
    const auto path = std::filesystem::path(folder) / (std::string(name.view()) + ".pcapng");
    files_.push_back(std::make_unique<AtomicFile>(path));
    traces_.push_back(std::make_unique<sim::Trace>(world, *files_.back(), node));
    kernel.observe(*traces_.back());
  };
  for (std::uint32_t i = 0; i < world.hosts.size(); ++i) {
    add(world.hosts[i].name, {sim::NodeKind::host, i});
  }
  for (std::uint32_t i = 0; i < world.stations.size(); ++i) {
    add(world.stations[i].name, {sim::NodeKind::station, i});
  }
}

void Captures::keep() {
  for (auto& file : files_) {
    file->keep();
  }
}

bool print_findings(const sim::Findings& findings) {
  std::uint64_t grouped = 0;
  for (const sim::FindingGroup& group : findings.groups()) {
    for (const sim::Finding& finding : group.first) {
      fmt::print("{} at {}, {}: {} (expected {}, found {})\n", name_of(finding.checker),
                 text_of(finding.at.since(Instant{0})), finding.where.view(), finding.what,
                 finding.expected, finding.found);
    }
    if (group.count > group.first.size()) {
      fmt::print("... and {} more like these, {} in all\n", group.count - group.first.size(),
                 group.count);
    }
    grouped += group.count;
  }
  if (findings.count() > grouped) {
    fmt::print("... and {} of other causes\n", findings.count() - grouped);
  }
  return findings.empty();
}

}  // namespace lockstep::tools
