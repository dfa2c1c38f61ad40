// The table that a server or a load draws while it runs: a row a second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/lib/load/histogram.hpp"
#include "tools/verbs/serve/totals.hpp"

namespace lockstep::tools {

/// Everything that a row is made of, at one moment, of one shard or of all.
struct Moment : ShardTotals {
  std::uint64_t connections = 0;
  std::uint64_t requests = 0;
  std::uint64_t octets = 0;  ///< of goodput
  std::uint64_t errors = 0;
  std::uint64_t open = 0;  ///< connections
  /// Of these, on which something is under way. The servers do not know it.
  std::optional<std::uint64_t> active;
  load::Histogram latency;
  load::Histogram rtt;
};

void add(Moment& sum, const Moment& each);

/// Columns of a terminal. Where they are too few for a row it has two lines.
struct Columns {
  std::uint32_t count = 0;
};

/// Whose a row is.
struct RowOf {
  std::string label;  ///< empty: there is but one shard, and no column for it
};

/// The table's head.
std::string live_head(Columns columns, bool has_labels);
/// What changed since `before`, and what there is now; what was lost is a line of its own.
std::string live_row(const Moment& before, const Moment& now, Columns columns, const RowOf& of);

/// Draws on standard error: a row of each shard, if they are few, and one of all.
class LiveTable {
 public:
  void draw(const std::vector<Moment>& shards);

 private:
  static constexpr std::uint32_t head_every = 20;   // seconds
  static constexpr std::uint32_t labelled_max = 8;  // shards that have rows of their own

  std::vector<Moment> before_;
  std::uint32_t drawn_ = 0;
};

}  // namespace lockstep::tools
