// Tries smaller selections in a temporary file: connections in halves, then both ends by bisection.
#include "tools/verbs/anonymise/shrink.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

constexpr int trials_max = 200;

/// A file without a name.
class ScratchFile final : public sim::ByteSink {
 public:
  ScratchFile() : file_(std::tmpfile()) {
    if (file_ == nullptr) {
      fail();
    }
  }
  ~ScratchFile() override { std::fclose(file_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void put(std::span<const std::byte> bytes) override {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
      fail();
    }
  }
  std::string path() {
    if (std::fflush(file_) != 0) {
      fail();
    }
    return fmt::format("/proc/self/fd/{}", fileno(file_));
  }

 private:
  [[noreturn]] static void fail() {
    throw Failure(ExitCode::environment,
                  fmt::format("--shrink: a temporary file cannot be written ({}); expected room in "
                              "/tmp: leave --shrink out",
                              std::strerror(errno)));
  }

  std::FILE* file_;
};

/// Counts the trials, and answers no when there have been too many.
class Trials {
 public:
  Trials(Anonymiser& anonymiser, const Essence& essence)
      : anonymiser_(anonymiser), essence_(essence) {
    add_packets(essence.lint, packets_);
    for (const PlainVerdict& verdict : essence.replay) {
      add_packets(verdict.violations, packets_);
    }
  }

  bool keeps_verdict(const Selection& selection) {
    if (++count_ > trials_max) {
      return false;
    }
    PacketNumbers packets = packets_;
    ScratchFile file;
    anonymiser_.write(selection, file, [&packets](std::uint64_t before, std::uint64_t after) {
      if (auto const found = packets.find(before); found != packets.end()) {
        found->second = after;
      }
    });
    LintOptions options;
    options.capture = file.path();
    try {
      return renumbered(essence_.lint, packets) == lint_findings(options, {}) &&
             (!essence_.with_replay || violating(renumbered(essence_.replay, packets)) ==
                                           violating(replay_verdicts(file.path(), {})));
    } catch (const Failure&) {
      return false;  // no TCP is left
    }
  }

 private:
  Anonymiser& anonymiser_;
  const Essence& essence_;
  PacketNumbers packets_;
  int count_ = 0;
};

std::vector<EndPair> pairs_in(const std::string& capture, const Selection& selection) {
  std::set<EndPair> out;
  CaptureReader reader(capture);
  CapturedFrame frame;
  while (reader.next(frame)) {
    Decoded const decoded = decode(frame, reader.link());
    if (decoded.kind == FrameKind::tcp) {
      EndPair const pair = pair_of(decoded.segment.source, decoded.segment.destination);
      if (selection.has(pair)) {
        out.insert(pair);
      }
    }
  }
  return {out.begin(), out.end()};
}

/// Leaves out as many connections as possible, at first half of them at once.
void drop_connections(Trials& trials, std::vector<EndPair> pairs, Selection& selection) {
  for (std::size_t size = pairs.size(); size != 0; size /= 2) {
    for (std::size_t at = 0; at < pairs.size();) {
      std::size_t const end = std::min(at + size, pairs.size());
      auto const begin = pairs.begin() + static_cast<std::ptrdiff_t>(at);
      auto const behind = pairs.begin() + static_cast<std::ptrdiff_t>(end);
      Selection smaller = selection;
      smaller.without.insert(begin, behind);
      if (trials.keeps_verdict(smaller)) {
        selection = smaller;
        pairs.erase(begin, behind);
      } else {
        at = end;
      }
    }
  }
}

/// The packets that findings name; the first and the last.
std::pair<std::uint64_t, std::uint64_t> extent(const Essence& essence) {
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  auto const take = [&](const std::vector<PlainFinding>& findings) {
    for (const PlainFinding& each : findings) {
      first = each.packet == 0 ? first : std::min(first, each.packet);
      last = std::max(last, each.packet);
    }
  };
  take(essence.lint);
  for (const PlainVerdict& verdict : essence.replay) {
    take(verdict.violations);
  }
  return {std::min(first, std::max<std::uint64_t>(last, 1)), std::max<std::uint64_t>(last, 1)};
}

}  // namespace

std::vector<PlainVerdict> violating(std::vector<PlainVerdict> verdicts) {
  std::erase_if(verdicts, [](const PlainVerdict& each) { return each.violations.empty(); });
  std::ranges::sort(verdicts);
  return verdicts;
}

Selection shrunk(Anonymiser& anonymiser, const std::string& capture, const Selection& from,
                 const Essence& essence) {
  Trials trials(anonymiser, essence);
  Selection best = from;
  best.last = anonymiser.packets();
  if (!trials.keeps_verdict(best)) {
    return from;
  }
  auto const [first, last] = extent(essence);
  for (std::uint64_t low = last, high = best.last; low < high;) {
    Selection smaller = best;
    smaller.last = low + (high - low) / 2;
    bool const fits = trials.keeps_verdict(smaller);
    best = fits ? smaller : best;
    (fits ? high : low) = fits ? smaller.last : smaller.last + 1;
  }
  drop_connections(trials, pairs_in(capture, best), best);
  for (std::uint64_t low = 1, high = first; low < high;) {
    Selection smaller = best;
    smaller.first = high - (high - low) / 2;
    bool const fits = trials.keeps_verdict(smaller);
    best = fits ? smaller : best;
    (fits ? low : high) = fits ? smaller.first : smaller.first - 1;
  }
  return best;
}

}  // namespace lockstep::tools
