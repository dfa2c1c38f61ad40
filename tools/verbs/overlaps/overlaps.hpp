// `lockstep overlaps`: which octets each device delivers when segments or fragments overlap.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/overlaps/overlaps.hpp"

namespace lockstep::tools {

struct OverlapOptions {
  std::vector<std::string> devices;  ///< names or paths
  std::uint32_t chunks = 3;          ///< at most so many, from 2 on
  std::string json, markdown;        ///< files for the results; empty: none
};

/// What one device did on one layer.
struct OverlapColumn {
  std::string device;
  conformance::OverlapLayer layer{};
  std::string left_out;  ///< why it was not asked; empty: it was
  std::array<std::uint64_t, conformance::overlap_outcomes> outcomes{};  ///< arrangements
  std::vector<std::string> delivered;                                   ///< of each arrangement
  std::vector<std::uint64_t> fingerprints;  ///< of `delivered` up to 2 chunks, up to 3, ...
};

/// The same violation in several arrangements.
struct OverlapFinding {
  std::string device, what;
  conformance::OverlapLayer layer{};
  std::uint64_t arrangements = 0;
  std::string first, delivered;  ///< an arrangement, and the letters of its units
};

struct OverlapResult {
  std::vector<conformance::Arrangement> arrangements;
  std::vector<OverlapColumn> columns;  ///< by layer, then in the order of the devices
  std::vector<OverlapFinding> findings;
};

/// Asks each device for each layer. Throws Failure.
OverlapResult run_overlaps(const OverlapOptions& options);

/// The tables in Markdown.
std::string overlaps_markdown(const OverlapOptions& options, const OverlapResult& result);

/// Runs it, prints the tables and the findings; returns the exit code.
int run_overlaps_verb(const OverlapOptions& options);

}  // namespace lockstep::tools
