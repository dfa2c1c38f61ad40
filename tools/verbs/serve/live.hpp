// The live table of a server or a load: one row per second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/lib/load/histogram.hpp"
#include "tools/verbs/serve/totals.hpp"

namespace lockstep::tools {

/// The values for a row, at one moment, of one shard or of all.
struct Moment : ShardTotals {
  std::uint64_t connections = 0;
  std::uint64_t requests = 0;
  std::uint64_t octets = 0;  ///< octets of goodput
  std::uint64_t errors = 0;
  std::uint64_t open = 0;  ///< open connections
  /// Open connections with a request in progress. Servers do not know this number.
  std::optional<std::uint64_t> active;
  load::Histogram latency;
  load::Histogram rtt;
};

void add(Moment& sum, const Moment& each);

/// Columns of the terminal. If they are too few for a row, it has two lines.
struct Columns {
  std::uint32_t count = 0;
};

/// The shard that a row shows.
struct RowOf {
  std::string label;  ///< empty: there is only one shard, and no column for labels
};

/// The head of the table.
std::string live_head(Columns columns, bool has_labels);
/// The changes since `before` and the present state. Losses are on a line of their own.
std::string live_row(const Moment& before, const Moment& now, Columns columns, const RowOf& of);

/// Draws on standard error: a row for each shard, if they are few, and one for all.
class LiveTable {
 public:
  void draw(const std::vector<Moment>& shards);

 private:
  static constexpr std::uint32_t head_every = 20;   // seconds
  static constexpr std::uint32_t labelled_max = 8;  // most shards that have rows of their own

  std::vector<Moment> before_;
  std::uint32_t drawn_ = 0;
};

}  // namespace lockstep::tools
