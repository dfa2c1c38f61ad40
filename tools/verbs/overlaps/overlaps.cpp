// `lockstep overlaps`: runs all arrangements, and prints tables.
#include "tools/verbs/overlaps/overlaps.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "conformance/devices/load.hpp"
#include "core/units/hash.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/progress.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

using conformance::Arrangement;
using conformance::OverlapLayer;
using conformance::OverlapOutcome;
using conformance::OverlapSession;
using nlohmann::ordered_json;

template <typename Enum>
std::vector<Enum> all_of(std::uint32_t count) {
  std::vector<Enum> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    out.push_back(static_cast<Enum>(i));
  }
  return out;
}

std::vector<OverlapLayer> layers() { return all_of<OverlapLayer>(conformance::overlap_layers); }

std::vector<OverlapOutcome> outcomes() {
  return all_of<OverlapOutcome>(conformance::overlap_outcomes);
}

void add_finding(std::vector<OverlapFinding>& findings, const OverlapColumn& column,
                 const Arrangement& arrangement, const std::string& what) {
  for (OverlapFinding& known : findings) {
    if (known.device == column.device && known.layer == column.layer && known.what == what) {
      ++known.arrangements;
      return;
    }
  }
  findings.push_back({column.device, what, column.layer, 1, conformance::text_of(arrangement),
                      column.delivered.back()});
}

/// Asks a device for one layer.
void fill(OverlapColumn& column, const std::filesystem::path& device, OverlapResult& result,
          const auto& each) {
  try {
    OverlapSession session(device, column.layer);
    column.left_out = session.left_out();
    Fingerprint fingerprint;
    for (Arrangement const& arrangement : result.arrangements) {
      if (!column.left_out.empty()) {
        break;
      }
      if (arrangement.size() > column.fingerprints.size() + 2) {
        column.fingerprints.push_back(fingerprint.value());
      }
      column.delivered.push_back(session.deliver(arrangement));
      std::string const& delivered = column.delivered.back();
      ++column.outcomes[static_cast<std::size_t>(conformance::outcome_of(arrangement, delivered))];
      for (char const letter : delivered) {
        fingerprint.add(static_cast<unsigned char>(letter));
      }
      std::string const wrong =
          conformance::overlap_violation(column.layer, arrangement, delivered);
      if (!wrong.empty()) {
        add_finding(result.findings, column, arrangement, wrong);
      }
      each();
    }
    column.fingerprints.push_back(fingerprint.value());
  } catch (const conformance::DeviceFault& fault) {
    // What was seen before counts.
    std::size_t const seen = column.delivered.size();
    result.findings.push_back(
        {column.device, fault.what(), column.layer, 1,
         seen < result.arrangements.size() ? conformance::text_of(result.arrangements[seen]) : "",
         ""});
  }
}

std::string text_of(const OverlapOptions& options, const OverlapFinding& finding) {
  std::string out = fmt::format("{}, {}: {}\n", finding.device, conformance::name_of(finding.layer),
                                finding.what);
  out += fmt::format("  {} arrangements; first {}{}{}\n", finding.arrangements, finding.first,
                     finding.delivered.empty() ? "" : ": it delivers ", finding.delivered);
  out +=
      fmt::format("  lockstep overlaps --devices {} --chunks {}\n", finding.device, options.chunks);
  return out;
}

/// The cell of an outcome: a count, or why there is none.
std::string cell_of(const OverlapColumn& column, OverlapOutcome outcome) {
  std::uint64_t const count = column.outcomes[static_cast<std::size_t>(outcome)];
  if (!column.left_out.empty()) {
    return "left out";
  }
  return count == 0 ? "" : fmt::format("{}", count);
}

/// The columns of a layer, one for each device.
std::vector<const OverlapColumn*> columns_of(const OverlapResult& result, OverlapLayer layer) {
  std::vector<const OverlapColumn*> out;
  for (OverlapColumn const& column : result.columns) {
    if (column.layer == layer) {
      out.push_back(&column);
    }
  }
  return out;
}

/// Rows of cells; the first row has the titles.
using Rows = std::vector<std::vector<std::string>>;

Rows counts(const OverlapResult& result) {
  Rows out{{"layer", "outcome"}};
  for (OverlapColumn const* const column : columns_of(result, OverlapLayer::tcp_queued)) {
    out.front().push_back(column->device);
  }
  for (OverlapLayer const layer : layers()) {
    for (OverlapOutcome const outcome : outcomes()) {
      std::vector<std::string> row{std::string(conformance::name_of(layer)),
                                   std::string(conformance::name_of(outcome))};
      bool any = false;
      for (OverlapColumn const* const column : columns_of(result, layer)) {
        row.push_back(cell_of(*column, outcome));
        any |= column->left_out.empty() && !row.back().empty();
      }
      if (any) {
        out.push_back(std::move(row));
      }
    }
  }
  return out;
}

/// What each device delivers for each pair of chunks that overlap.
Rows pairs(const OverlapResult& result) {
  Rows out{{"layer", "arrangement", "first", "last"}};
  for (OverlapColumn const* const column : columns_of(result, OverlapLayer::tcp_queued)) {
    out.front().push_back(column->device);
  }
  for (OverlapLayer const layer : layers()) {
    for (std::size_t i = 0; i < result.arrangements.size(); ++i) {
      Arrangement const& arrangement = result.arrangements[i];
      if (arrangement.size() != 2 || !conformance::overlaps(arrangement)) {
        continue;
      }
      std::vector<std::string> row{
          std::string(conformance::name_of(layer)), conformance::text_of(arrangement),
          conformance::first_wins(arrangement), conformance::last_wins(arrangement)};
      for (OverlapColumn const* const column : columns_of(result, layer)) {
        row.push_back(i < column->delivered.size() ? column->delivered[i] : "");
      }
      out.push_back(std::move(row));
    }
  }
  return out;
}

Rows fingerprints(const OverlapOptions& options, const OverlapResult& result) {
  Rows out{{"layer", "chunks"}};
  for (OverlapColumn const* const column : columns_of(result, OverlapLayer::tcp_queued)) {
    out.front().push_back(column->device);
  }
  for (OverlapLayer const layer : layers()) {
    for (std::uint32_t chunks = 2; chunks <= options.chunks; ++chunks) {
      std::vector<std::string> row{std::string(conformance::name_of(layer)),
                                   fmt::format("{}", chunks)};
      for (OverlapColumn const* const column : columns_of(result, layer)) {
        bool const asked = column->left_out.empty() && chunks - 2 < column->fingerprints.size();
        row.push_back(asked ? fmt::format("{:016x}", column->fingerprints[chunks - 2])
                            : column->left_out);
      }
      out.push_back(std::move(row));
    }
  }
  return out;
}

std::string plain(const Rows& rows) {
  std::vector<TextTable::Column> columns;
  for (std::string const& title : rows.front()) {
    columns.push_back({title, TextTable::Align::left});
  }
  TextTable table(std::move(columns));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    table.add(rows[i]);
  }
  return table.text(terminal_columns());
}

std::string marked(const Rows& rows) {
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::string const& cell : rows[i]) {
      out += "| " + cell + (cell.empty() ? "" : " ");
    }
    out += "|\n";
    for (std::size_t k = 0; i == 0 && k < rows[0].size(); ++k) {
      out += k + 1 == rows[0].size() ? "|---|\n" : "|---";
    }
  }
  return out;
}

ordered_json json_of(const OverlapOptions& options, const OverlapResult& result) {
  ordered_json out{{"chunks", options.chunks}};
  out["arrangements"] = ordered_json::array();
  for (Arrangement const& arrangement : result.arrangements) {
    out["arrangements"].push_back(conformance::text_of(arrangement));
  }
  out["results"] = ordered_json::array();
  for (OverlapColumn const& column : result.columns) {
    ordered_json one{{"device", column.device}, {"layer", conformance::name_of(column.layer)}};
    if (!column.left_out.empty()) {
      one["left_out"] = column.left_out;
    } else {
      for (std::uint64_t const fingerprint : column.fingerprints) {
        one["fingerprints"].push_back(fmt::format("{:016x}", fingerprint));
      }
      for (OverlapOutcome const outcome : outcomes()) {
        one["outcomes"][std::string(conformance::name_of(outcome))] =
            column.outcomes[static_cast<std::size_t>(outcome)];
      }
      one["delivered"] = column.delivered;
    }
    out["results"].push_back(std::move(one));
  }
  out["findings"] = ordered_json::array();
  for (OverlapFinding const& finding : result.findings) {
    out["findings"].push_back({{"device", finding.device},
                               {"layer", conformance::name_of(finding.layer)},
                               {"what", finding.what},
                               {"arrangements", finding.arrangements},
                               {"first", finding.first},
                               {"delivered", finding.delivered}});
  }
  return out;
}

}  // namespace

OverlapResult run_overlaps(const OverlapOptions& options) {
  OverlapResult out;
  for (std::uint32_t chunks = 2; chunks <= options.chunks; ++chunks) {
    std::vector<Arrangement> more = conformance::arrangements(chunks);
    out.arrangements.insert(out.arrangements.end(), more.begin(), more.end());
  }
  std::vector<std::filesystem::path> paths;
  for (std::string const& device : options.devices) {
    paths.push_back(conformance::device_path(device));
  }
  Progress progress;
  std::uint64_t done = 0;
  std::uint64_t const total = out.arrangements.size() * paths.size() * layers().size();
  for (OverlapLayer const layer : layers()) {
    for (std::filesystem::path const& path : paths) {
      OverlapColumn column;
      column.device = conformance::device_name(path);
      column.layer = layer;
      fill(column, path, out, [&] {
        progress.draw(++done, total, fmt::format("{} of {} arrangements", done, total));
      });
      out.columns.push_back(std::move(column));
    }
  }
  return out;
}

std::string overlaps_markdown(const OverlapOptions& options, const OverlapResult& result) {
  std::string names;
  for (std::string const& device : options.devices) {
    names += (names.empty() ? "" : ",") + device;
  }
  std::string out = fmt::format(
      "# What devices deliver when data overlaps\n\n"
      "`README.md` explains the words, and how this page is made:\n\n"
      "```sh\nlockstep overlaps --devices {} --chunks {} --markdown FILE\n```\n\n"
      "{} arrangements of 2 to {} chunks, on each layer:\n\n",
      names, options.chunks, result.arrangements.size(), options.chunks);
  out += marked(counts(result));
  out +=
      "\nTwo chunks, A before B; a letter for each unit that is delivered, and `-` for a packet "
      "that is\ndropped:\n\n";
  out += marked(pairs(result));
  out += "\nFingerprints of all that was delivered, of arrangements of 2 up to so many chunks:\n\n";
  out += marked(fingerprints(options, result));
  if (!result.findings.empty()) {
    out += "\nFindings:\n\n";
  }
  for (OverlapFinding const& finding : result.findings) {
    out += fmt::format("- {}, {}: {}; {} arrangements, first {}: it delivers `{}`\n",
                       finding.device, conformance::name_of(finding.layer), finding.what,
                       finding.arrangements, finding.first, finding.delivered);
  }
  return out;
}

int run_overlaps_verb(const OverlapOptions& options) {
  auto const json = file_if_named(options.json), markdown = file_if_named(options.markdown);
  OverlapResult const result = run_overlaps(options);
  fmt::print("{}\n{}\n{}", plain(counts(result)), plain(pairs(result)),
             plain(fingerprints(options, result)));
  for (OverlapFinding const& finding : result.findings) {
    fmt::print("\n{}", text_of(options, finding));
  }
  fmt::print("\n{} arrangements on {} layers of {} devices, {} kinds of findings\n",
             result.arrangements.size(), layers().size(), options.devices.size(),
             result.findings.size());
  keep_text(json.get(), json_text(json_of(options, result)));
  keep_text(markdown.get(), overlaps_markdown(options, result));
  return static_cast<int>(result.findings.empty() ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::tools
