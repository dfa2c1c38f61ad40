// Opens the journals before the run, and reports errors after it, for every role.
#include "tools/verbs/serve/shard_pool.hpp"

#include <fmt/core.h>

#include <cstring>

#include "core/units/check.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

void on_failed_check(const CheckSite& site) {
  fmt::print(stderr, "lockstep: internal error: CHECK({}) failed at {}:{}; please report it{}\n",
             site.condition, site.file, site.line,
             open_log == nullptr ? ", if possible with a journal (--record)" : " with the journal");
  if (open_log != nullptr) {
    open_log->flush();
  }
}

}  // namespace

Journals open_journals(const ServePlan& plan, const std::string& record) {
  set_check_handler(on_failed_check);
  Journals out;
  for (std::uint32_t i = 0; !record.empty() && i < plan.shards.value; ++i) {
    std::string const name = plan.shards.value == 1 ? record : fmt::format("{}.{}", record, i);
    if (plan.record_on) {
      out.kept.push_back(name);
    } else {
      out.writers.push_back(std::make_unique<journal::Writer>(name));
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
  }
  return out;
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
}

}  // namespace lockstep::tools
