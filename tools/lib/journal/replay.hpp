// Plays a journal back to the same core and application, and compares every frame.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/lib/journal/inspection.hpp"
#include "tools/lib/journal/playback.hpp"
#include "tools/lib/journal/reader.hpp"

namespace lockstep::journal {

struct ReplayRequest {
  std::string journal;
  std::string pcapng;       ///< path of a capture to write; empty: none
  std::string json;         ///< path of the result to write; empty: none
  std::string folder = {};  ///< the served files, if the journal has only their hash
  /// Where to stop early: after the last turn that began within this time of the first, or after
  /// this many turns.
  std::optional<Duration> until = std::nullopt;
  std::optional<std::uint64_t> turns = std::nullopt;
  bool inspect = false;  ///< report the state of each connection at the end
  /// Called with a line for each frame and each command to the application; may be empty.
  std::function<void(const std::string&)> on_line = nullptr;
};

struct ReplayResult {
  LinkType link = LinkType::ethernet;  ///< the link type of the frames
  std::uint64_t turns = 0;
  std::uint64_t frames_in = 0;
  std::uint64_t frames_out = 0;
  Duration lasted;
  std::optional<Divergence> divergence;
  std::optional<std::uint64_t> edited_record;  ///< the first with a wrong chain hash, from 1
  std::optional<std::string> state_differs;    ///< at the end, though all frames agree
  Tail tail = Tail::whole;
  std::uint64_t tail_offset = 0;
  bool from_snapshot = false;  ///< the journal begins with a snapshot of a running stack
  bool ended = false;          ///< the journal has its end record: the program ended normally
  bool stopped = false;        ///< before the end, as requested
  std::optional<std::vector<ConnectionInfo>> connections;  ///< if requested

  bool clean() const { return !divergence && !edited_record && !state_differs; }
};

/// Throws tools::Failure if the journal cannot be used at all.
ReplayResult replay_journal(const ReplayRequest& request);
/// A few lines: what was played, and the first finding of each kind.
std::string text_of(const ReplayResult& result, const std::string& path);
std::string json_of(const ReplayResult& result, const std::string& path);
/// The verb: plays, prints, and returns the exit code.
int run_journal_replay(const ReplayRequest& request);

}  // namespace lockstep::journal
