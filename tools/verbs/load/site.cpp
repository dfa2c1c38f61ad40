// Writes files with the content of /bytes/N.
#include "tools/verbs/load/site.hpp"

#include <fmt/core.h>

#include "tools/base/output/atomic_file.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/http/site.hpp"

namespace lockstep::tools {

void make_site(const load::LoadPlan& plan, const std::string& folder) {
  http::Site const site;
  std::span<const std::byte> const pattern = site.pattern();
  std::uint64_t files = 0;
  for (const load::Item& item : plan.catalogue.items) {
    if (!item.is_pattern) {
      continue;
    }
    AtomicFile file(folder + item.name);
    for (std::uint64_t left = item.length; left != 0;) {
      std::uint64_t const run = std::min<std::uint64_t>(left, pattern.size());
      file.put(pattern.first(static_cast<std::size_t>(run)));
      left -= run;
    }
    file.keep();
    ++files;
  }
  fmt::print("{} files in {}\n", grouped(files), folder);
}

}  // namespace lockstep::tools
