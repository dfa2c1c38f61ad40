// Plays a journal back to the same core and the same application, and compares every frame.
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
  std::string pcapng;  ///< what went over the wire; empty: none
  std::string json;    ///< the result; empty: none
  /// Where to stop before the end: behind the last turn that began within this time of the first,
  /// or behind so many turns.
  std::optional<Duration> until = std::nullopt;
  std::optional<std::uint64_t> turns = std::nullopt;
  bool inspect = false;  ///< say what each connection is at in the end
  /// Is given a line for each frame and each order to the application; may be empty.
  std::function<void(const std::string&)> on_line = nullptr;
};

struct ReplayResult {
  LinkType link = LinkType::ethernet;  ///< how each frame begins
  std::uint64_t turns = 0;
  std::uint64_t frames_in = 0;
  std::uint64_t frames_out = 0;
  Duration lasted;
  std::optional<Divergence> divergence;
  std::optional<std::uint64_t> edited_record;  ///< the first whose chain does not fit, from 1
  std::optional<std::string> state_differs;    ///< of the end: the frames agree, the state does not
  Tail tail = Tail::whole;
  std::uint64_t tail_offset = 0;
  bool from_snapshot = false;  ///< of a run that was under way already
  bool ended = false;          ///< the journal has its last record: the program ended as it should
  bool stopped = false;        ///< before the end, as was asked
  std::optional<std::vector<ConnectionInfo>> connections;  ///< where they were asked for

  bool clean() const { return !divergence && !edited_record && !state_differs; }
};

/// Throws tools::Failure where the journal cannot be used at all.
ReplayResult replay_journal(const ReplayRequest& request);
/// A few lines: what was played, and the first finding of each kind.
std::string text_of(const ReplayResult& result, const std::string& path);
std::string json_of(const ReplayResult& result, const std::string& path);
/// The verb: plays, prints, and gives the exit code.
int run_journal_replay(const ReplayRequest& request);

}  // namespace lockstep::journal
