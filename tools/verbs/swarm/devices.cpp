// `lockstep swarm --devices`: workers, their lines, and the table.
#include "tools/verbs/swarm/devices.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "conformance/devices/load.hpp"
#include "conformance/devices/peer.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/progress.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/swarm/swarm.hpp"

namespace lockstep::tools {
namespace {

using conformance::InteropFinding;
using conformance::InteropPair;
using conformance::InteropRun;
using nlohmann::ordered_json;

std::string name_of(const InteropPair& pair) {
  return conformance::device_name(pair.a) + " + " + conformance::device_name(pair.b);
}

std::vector<InteropPair> pairs_of(const std::vector<std::string>& devices) {
  std::vector<std::filesystem::path> paths;
  for (std::string const& device : devices) {
    paths.push_back(conformance::device_path(device));
    try {
      static_cast<void>(conformance::DevicePeer(paths.back()).about());
    } catch (const conformance::DeviceFault& fault) {
      throw Failure(ExitCode::finding, fault.what());
    }
  }
  std::vector<InteropPair> out;
  for (std::size_t a = 0; a < paths.size(); ++a) {
    for (std::size_t b = a; b < paths.size(); ++b) {
      out.push_back({paths[a], paths[b]});
    }
  }
  return out;
}

/// A world as one line of JSON.
std::string line_of(const InteropRun& run) {
  ordered_json out{{"seed", run.seed},     {"left_out", run.left_out},
                   {"words", run.words},   {"octets", run.octets},
                   {"frames", run.frames}, {"fingerprint", run.fingerprint}};
  out["findings"] = ordered_json::array();
  for (InteropFinding const& finding : run.findings) {
    out["findings"].push_back({{"kind", conformance::name_of(finding.kind)},
                               {"device", finding.device},
                               {"what", finding.what},
                               {"at_ns", finding.at.ns},
                               {"detail", finding.detail}});
  }
  return out.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

/// In a worker: every `step`-th seed from `first` on, a line each.
[[noreturn]] void labour(const DeviceSwarmOptions& options, const std::vector<InteropPair>& pairs,
                         std::uint64_t first, int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int code = 0;
  try {
    for (std::uint64_t seed = first; seed <= options.seeds.last; seed += options.jobs) {
      InteropRun const run = conformance::run_interop(pairs[seed % pairs.size()], seed);
      if (!options.pcapng.empty() && !run.capture.empty()) {
        save_file(fmt::format("{}/seed-{}.pcapng", options.pcapng, seed), run.capture);
      }
      std::string const line = line_of(run);
      for (std::size_t at = 0; at < line.size();) {
        ssize_t const done = write(to, line.data() + at, line.size() - at);
        if (done <= 0) {
          _exit(1);
        }
        at += static_cast<std::size_t>(done);
      }
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "lockstep: %s\n", failure.what());
    code = 3;
  }
  _exit(code);
}

struct Worker {
  pid_t pid = 0;
  int from = -1;
  std::string text;  ///< not yet taken
};

/// Reads the lines of all workers, by seed.
class Lines {
 public:
  Lines(const DeviceSwarmOptions& options, const std::vector<InteropPair>& pairs)
      : total_(options.seeds.last - options.seeds.first + 1) {
    std::fflush(nullptr);
    for (std::uint32_t i = 0; i < options.jobs && i < total_; ++i) {
      std::array<int, 2> ends{};
      if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw Failure(ExitCode::environment, "no pipe is left: choose fewer --jobs");
      }
      pid_t const pid = fork();
      if (pid == 0) {
        labour(options, pairs, options.seeds.first + i, ends[1]);
      }
      close(ends[1]);
      if (pid < 0) {
        throw Failure(ExitCode::environment,
                      "no further process can be started: choose fewer --jobs");
      }
      workers_.push_back({pid, ends[0], {}});
    }
  }

  std::map<std::uint64_t, ordered_json> all() {
    Progress progress;
    std::size_t open = workers_.size();
    while (open != 0) {
      open = 0;
      std::vector<pollfd> entries;
      for (Worker const& worker : workers_) {
        entries.push_back({worker.from, POLLIN, 0});
        open += worker.from >= 0 ? 1 : 0;
      }
      poll(entries.data(), entries.size(), 100);
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].revents != 0) {
          take(workers_[i]);
        }
      }
      progress.draw(lines_.size(), total_, fmt::format("{} of {} worlds", lines_.size(), total_));
    }
    return std::move(lines_);
  }

 private:
  void take(Worker& worker) {
    std::array<char, 65'536> piece{};
    ssize_t const got = read(worker.from, piece.data(), piece.size());
    if (got > 0) {
      worker.text.append(piece.data(), static_cast<std::size_t>(got));
      for (std::size_t end = worker.text.find('\n'); end != std::string::npos;
           end = worker.text.find('\n')) {
        ordered_json line = ordered_json::parse(worker.text.substr(0, end));
        std::uint64_t const seed = line.at("seed");
        lines_.emplace(seed, std::move(line));
        worker.text.erase(0, end + 1);
      }
      return;
    }
    close(std::exchange(worker.from, -1));
    int status = 0;
    waitpid(worker.pid, &status, 0);
    if (WIFSIGNALED(status)) {
      throw Failure(ExitCode::environment,
                    fmt::format("a worker ended by SIG{}", sigabbrev_np(WTERMSIG(status))));
    }
    if (WEXITSTATUS(status) != 0) {
      throw Failure(ExitCode::environment, "a worker could not go on: see the line above");
    }
  }

  std::uint64_t total_;
  std::vector<Worker> workers_;
  std::map<std::uint64_t, ordered_json> lines_;
};

using FaultKey = std::tuple<std::string, std::string, std::string>;

ordered_json json_of(const DeviceSwarmOptions& options, const DeviceSwarmResult& result) {
  ordered_json out{{"devices", options.devices},
                   {"first_seed", options.seeds.first},
                   {"last_seed", options.seeds.last},
                   {"fingerprint", fmt::format("{:016x}", result.fingerprint)}};
  out["pairs"] = ordered_json::array();
  for (PairTally const& pair : result.pairs) {
    out["pairs"].push_back({{"pair", pair.pair},
                            {"worlds", pair.worlds},
                            {"left_out", pair.left_out},
                            {"with_findings", pair.with_findings},
                            {"octets", pair.octets},
                            {"frames", pair.frames}});
  }
  out["findings"] = ordered_json::array();
  for (DeviceFault const& fault : result.faults) {
    out["findings"].push_back({{"kind", fault.kind},
                               {"device", fault.device},
                               {"what", fault.what},
                               {"worlds", fault.worlds},
                               {"first_seed", fault.first_seed},
                               {"first_pair", fault.first_pair},
                               {"at_ns", fault.at_ns},
                               {"detail", fault.detail}});
  }
  out["left_out"] = ordered_json::array();
  for (auto const& [reason, worlds] : result.left_out) {
    out["left_out"].push_back({{"reason", reason}, {"worlds", worlds}});
  }
  return out;
}

void print(const DeviceSwarmOptions& options, const DeviceSwarmResult& result) {
  using Align = TextTable::Align;
  TextTable table({{"pair", Align::left},
                   {"worlds", Align::right},
                   {"left out", Align::right},
                   {"with findings", Align::right},
                   {"octets read", Align::right},
                   {"frames", Align::right}});
  for (PairTally const& pair : result.pairs) {
    table.add({pair.pair, fmt::format("{}", pair.worlds), fmt::format("{}", pair.left_out),
               fmt::format("{}", pair.with_findings), fmt::format("{}", pair.octets),
               fmt::format("{}", pair.frames)});
  }
  fmt::print("{}", table.text(terminal_columns()));
  for (auto const& [reason, worlds] : result.left_out) {
    fmt::print("left out: {} worlds: {}\n", worlds, reason);
  }
  std::string names;
  for (std::string const& device : options.devices) {
    names += (names.empty() ? "" : ",") + device;
  }
  for (DeviceFault const& fault : result.faults) {
    fmt::print("\n{} {}: {}\n  {} worlds; first {} at {}.{:06} s{}{}\n", fault.device, fault.kind,
               fault.what, fault.worlds, fault.first_pair, fault.at_ns / 1'000'000'000,
               fault.at_ns / 1'000 % 1'000'000, fault.detail.empty() ? "" : ": ", fault.detail);
    fmt::print("  lockstep swarm --devices {} --seeds {} --pcapng FOLDER\n", names,
               fault.first_seed);
  }
  fmt::print("{}{} worlds, {} kinds of findings; fingerprint {:016x}\n",
             result.faults.empty() ? "" : "\n", options.seeds.last - options.seeds.first + 1,
             result.faults.size(), result.fingerprint);
}

}  // namespace

DeviceSwarmResult run_device_swarm(const DeviceSwarmOptions& options) {
  std::vector<InteropPair> const pairs = pairs_of(options.devices);
  DeviceSwarmResult out;
  for (InteropPair const& pair : pairs) {
    out.pairs.push_back({name_of(pair), 0, 0, 0, 0, 0});
  }
  std::map<FaultKey, DeviceFault> faults;
  std::map<std::string, std::uint64_t> reasons;
  Fingerprint fingerprint;
  for (auto const& [seed, line] : Lines(options, pairs).all()) {
    PairTally& tally = out.pairs[seed % pairs.size()];
    ++tally.worlds;
    tally.octets += line.at("octets").get<std::uint64_t>();
    tally.frames += line.at("frames").get<std::uint64_t>();
    fingerprint.add(line.at("fingerprint").get<std::uint64_t>());
    if (std::string const reason = line.at("left_out"); !reason.empty()) {
      ++tally.left_out;
      ++reasons[reason];
    }
    std::map<FaultKey, bool> here;
    for (ordered_json const& finding : line.at("findings")) {
      FaultKey const key{finding.at("kind"), finding.at("device"), finding.at("what")};
      if (!here.emplace(key, true).second) {
        continue;  // once a world
      }
      auto const [at, fresh] = faults.try_emplace(key);
      DeviceFault& fault = at->second;
      ++fault.worlds;
      if (fresh) {
        fault.kind = std::get<0>(key);
        fault.device = std::get<1>(key);
        fault.what = std::get<2>(key);
        fault.first_seed = seed;
        fault.first_pair = tally.pair;
        fault.detail = finding.at("detail");
        fault.at_ns = finding.at("at_ns");
      }
    }
    tally.with_findings += here.empty() ? 0 : 1;
  }
  for (auto& [key, fault] : faults) {
    out.faults.push_back(std::move(fault));
  }
  std::ranges::sort(out.faults, [](const DeviceFault& a, const DeviceFault& b) {
    return std::tie(b.worlds, a.first_seed, a.what) < std::tie(a.worlds, b.first_seed, b.what);
  });
  out.left_out.assign(reasons.begin(), reasons.end());
  out.fingerprint = fingerprint.value();
  return out;
}

int run_device_swarm_verb(const DeviceSwarmOptions& options) {
  if (!options.pcapng.empty()) {
    make_folder(options.pcapng);
  }
  std::unique_ptr<AtomicFile> json;
  if (!options.json.empty()) {
    json = std::make_unique<AtomicFile>(options.json);
  }
  DeviceSwarmResult const result = run_device_swarm(options);
  print(options, result);
  if (json != nullptr) {
    json->put(json_text(json_of(options, result)));
    json->keep();
  }
  return static_cast<int>(result.faults.empty() ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::tools
