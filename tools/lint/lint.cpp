// Takes a capture to the referee, segment by segment, after a look at its checksums.
#include "tools/lint/lint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/wire/tcp_options.hpp"
#include "tools/cli/failure.hpp"

namespace lockstep::tools {
namespace {

using namespace sim::referee;

/// How the checksums of one source look.
struct Sums {
  std::uint64_t good = 0, bad = 0, partial = 0;

  /// Left to hardware: some show the pseudo-header alone, or none is right.
  bool left_out() const { return partial != 0 || (good == 0 && bad > 2); }
};

using SumsBySource = std::map<std::pair<std::uint64_t, std::uint64_t>, Sums>;

std::pair<std::uint64_t, std::uint64_t> key_of(const IpAddress& address) {
  return {address.high, address.low};
}

void refuse_unreadable(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw Failure(ExitCode::environment,
                  fmt::format("{}: is not there; expected a capture file: check the path", path));
  }
  bool const plain = std::filesystem::is_regular_file(path, error) ||
                     std::filesystem::is_directory(path, error);
  if (!plain) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: is a pipe or device; expected a file, as it is read twice: save "
                              "the capture first",
                              path));
  }
}

SumsBySource look_at_sums(const std::string& path, Linted& out) {
  SumsBySource sums;
  CaptureReader reader(path);
  CapturedFrame frame;
  while (reader.next(frame)) {
    ++out.packets;
    Decoded const decoded = decode(frame, reader.link());
    ++out.kinds[static_cast<std::size_t>(decoded.kind)];
    if (decoded.kind != FrameKind::tcp) {
      continue;
    }
    ++out.segments;
    Sums& of = sums[key_of(decoded.segment.source.address)];
    of.good += decoded.segment.sum == SumState::good ? 1u : 0u;
    of.bad += decoded.segment.sum == SumState::bad ? 1u : 0u;
    of.partial += decoded.segment.sum == SumState::partial ? 1u : 0u;
  }
  return sums;
}

std::uint64_t count_of(const Linted& linted, FrameKind kind) {
  return linted.kinds[static_cast<std::size_t>(kind)];
}

void refuse_other_protocols(const LintOptions& options, const Linted& out) {
  if (out.segments + count_of(out, FrameKind::malformed) != 0) {
    return;
  }
  std::string others;
  for (std::size_t kind = 0; kind < out.kinds.size(); ++kind) {
    if (out.kinds[kind] != 0) {
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", out.kinds[kind],
                            name_of(static_cast<FrameKind>(kind)));
    }
  }
  throw Failure(ExitCode::bad_input,
                fmt::format("{}: no TCP in {} packets ({}); expected TCP over IPv4 or IPv6: record "
                            "it with tcpdump tcp",
                            options.capture, out.packets, others.empty() ? "none" : others));
}

Sum sum_of(SumState state, bool offloaded) {
  switch (state) {
    case SumState::good:
      return Sum::good;
    case SumState::bad:
      return offloaded ? Sum::unfilled : Sum::bad;
    case SumState::partial:
      return Sum::unfilled;
    case SumState::unverifiable:
      break;
  }
  return Sum::unknown;
}

Foul malformed_foul(const CapturedFrame& frame) {
  Foul foul;
  foul.rule = Rule::header_length;
  foul.packet = frame.number;
  foul.at = frame.time;
  return foul;
}

}  // namespace

std::uint64_t Linted::certain() const {
  return static_cast<std::uint64_t>(std::count_if(fouls.begin(), fouls.end(), [](const Foul& foul) {
    return foul.certainty() == Certainty::certain;
  }));
}

Sighting sighting_of(const Segment& segment, bool offloaded) {
  Sighting out;
  out.packet = segment.number;
  out.at = segment.time;
  out.source = segment.source;
  out.destination = segment.destination;
  out.segment.source = segment.source.port;
  out.segment.destination = segment.destination.port;
  out.segment.sequence = {segment.sequence};
  out.segment.acknowledgment = {segment.acknowledgment};
  out.segment.flags = {segment.flags};
  out.segment.window = {segment.window};
  out.segment.urgent = segment.urgent;
  out.segment.payload = segment.payload;
  out.cut = {segment.missing};
  out.options = segment.options;
  out.options_good = wire::parse(segment.options, out.segment.options) == Drop::none;
  if (!out.options_good) {
    out.segment.options = {};
  }
  out.reserved = segment.reserved;
  out.ecn = segment.traffic_class & 3u;
  out.sum = sum_of(segment.sum, offloaded);
  out.ip_sum = sum_of(segment.header_sum, offloaded);
  return out;
}

Linted lint(const LintOptions& options) {
  refuse_unreadable(options.capture);
  Linted out;
  SumsBySource const sums = look_at_sums(options.capture, out);
  refuse_other_protocols(options, out);
  Terms terms;
  terms.whole = options.whole;
  terms.rto_min = options.rto_min;
  Fouls fouls(terms.fouls_max);
  Referee referee(terms, fouls);
  Allowances const own;
  CaptureReader reader(options.capture);
  CapturedFrame frame;
  while (reader.next(frame)) {
    Decoded const decoded = decode(frame, reader.link());
    if (decoded.kind == FrameKind::malformed) {
      fouls.add(malformed_foul(frame));
    }
    if (decoded.kind != FrameKind::tcp) {
      continue;
    }
    IpAddress const source = decoded.segment.source.address;
    Sighting const said = sighting_of(decoded.segment, sums.at(key_of(source)).left_out());
    if (std::find(options.at.begin(), options.at.end(), source) != options.at.end()) {
      referee.see_own(said, own);
    } else {
      referee.see(said);
    }
  }
  referee.end();
  bool const in_parts = count_of(out, FrameKind::fragment) != 0;
  bool const cut = count_of(out, FrameKind::cut_short) != 0;
  if ((in_parts || cut) && !options.whole) {
    fouls.doubt_all(Doubt::cut);
  }
  out.fouls = fouls.kept();
  out.beyond = fouls.dropped();
  out.connections = referee.connections();
  out.unjudged = referee.unjudged();
  return out;
}

}  // namespace lockstep::tools
