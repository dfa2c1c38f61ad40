// Opens the journals before the run, and reports errors after it, for every role.
#include "tools/verbs/serve/shard_pool.hpp"

#include <fmt/core.h>

#include <cstring>
#include <filesystem>

#include "core/units/check.hpp"
#include "tools/base/output/event_log.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/controllers/load.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t kept_max = journal::FlightRecorder::files_max;

void on_failed_check(const CheckSite& site) {
  fmt::print(stderr, "lockstep: internal error: CHECK({}) failed at {}:{}; please report it{}\n",
             site.condition, site.file, site.line,
             open_log == nullptr ? ", if possible with a journal (--record)" : " with the journal");
  if (open_log != nullptr) {
    open_log->flush();
  }
}

/// Refuses a journal that would replace a file.
void refuse_existing(const std::string& name) {
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error)) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--record {}: it exists: name another file, or give --force", name));
  }
}

void tell_failure(const journal::Writer& writer) {
  log_event({LogLevel::warning, "journal_failed",
             fmt::format("{}: {}: the journal ends after {} octets; the program goes on without it",
                         writer.path(), std::strerror(writer.failed()), writer.bytes())},
            {{"file", writer.path()}, {"octets", writer.bytes()}});
}

}  // namespace

Journals open_journals(const ServePlan& plan, const std::string& record, bool force) {
  set_check_handler(on_failed_check);
  Journals out;
  for (std::uint32_t i = 0; !record.empty() && i < plan.shards.value; ++i) {
    std::string const name = plan.shards.value == 1 ? record : fmt::format("{}.{}", record, i);
    if (!force) {
      refuse_existing(name);
    }
    for (std::uint32_t file = 2; plan.record_on && !force && file <= kept_max; ++file) {
      refuse_existing(fmt::format("{}-{}", name, file));
    }
    if (plan.record_on) {
      out.kept.push_back(name);
    } else {
      out.writers.push_back(std::make_unique<journal::Writer>(name));
      out.writers.back()->on_failure(tell_failure);
    }
  }
  return out;
}

Ended ended_of(const std::vector<Ended>& shards) {
  Ended out;
  for (const Ended& shard : shards) {
    out.ending = std::max(out.ending, shard.ending);
    out.kept.insert(out.kept.end(), shard.kept.begin(), shard.kept.end());
    out.kept_failed = out.kept_failed != 0 ? out.kept_failed : shard.kept_failed;
    out.duplicates = out.duplicates.empty() ? shard.duplicates : out.duplicates;
    out.fault = out.fault.found ? out.fault : shard.fault;
    out.not_captured = out.not_captured.empty() ? shard.not_captured : out.not_captured;
  }
  return out;
}

std::unique_ptr<Capture> capture_of(const ServePlan& plan) {
  if (plan.capture.path.empty()) {
    return nullptr;
  }
  std::uint64_t const origin_ns = unix_ns() - hw::MonotonicClock::first().since(Instant{}).ns;
  return std::make_unique<Capture>(
      plan.capture, CapturedInterface{plan.interface, plan.shards, plan.config.link}, origin_ns);
}

void end_capture(std::unique_ptr<Capture>& capture, Ended& ended) {
  if (capture != nullptr) {
    capture->finish();
    fmt::print("captured         {} frames, up to {}{}\n", grouped(capture->frames()),
               capture->last_name(),
               capture->lost() == 0 ? "" : fmt::format("; {} left out", grouped(capture->lost())));
    ended.not_captured = capture->lost_text();
    capture.reset();
  }
}

std::string kept_text(const Ended& ended) {
  std::string out;
  for (const std::string& name : ended.kept) {
    out += fmt::format("triggers         {}\n", name);
  }
  return out;
}

void fail_if_cut_short(const Ended& ended, const ServePlan& plan, const Journals& journals) {
  if (ended.ending == hw::Ending::gone) {
    throw Failure(ExitCode::environment,
                  fmt::format("{} was deleted while in use: create it again, or let this "
                              "program create it",
                              plan.interface));
  }
  if (!ended.duplicates.empty()) {
    throw Failure(ExitCode::environment, "--address " + ended.duplicates);
  }
  std::string const fault = controller_fault_of(ended.fault, plan.config.tcp.congestion,
                                                fmt::format("on {}", plan.interface));
  if (!fault.empty()) {
    throw Failure(ExitCode::finding, fault);
  }
  if (ended.kept_failed != 0) {
    throw Failure(
        ExitCode::environment,
        fmt::format(
            "--record-on: {}: the seconds around an event were lost; free space on the disk",
            std::strerror(ended.kept_failed)));
  }
  for (auto const& writer : journals.writers) {
    if (writer->failed() != 0) {
      throw Failure(ExitCode::environment,
                    fmt::format("{}: {}: the journal ends after {} octets; free space on the disk",
                                writer->path(), std::strerror(writer->failed()), writer->bytes()));
    }
  }
  if (!ended.not_captured.empty()) {
    throw Failure(ExitCode::environment, ended.not_captured);
  }
}

}  // namespace lockstep::tools
