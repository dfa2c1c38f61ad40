// Compares octets as they are read, and lengths when a connection has ended.
#include "sim/checkers/stream.hpp"

#include <cstring>

#include "sim/kernel/kernel.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint64_t let_go_least = 1u << 20;

}  // namespace

// Waits until over half of `kept` was read, so that moving the rest costs less than reading did.
void StreamChecker::Direction::let_go_of_read() {
  std::uint64_t const done = read - begin;
  if (done > kept.size() / 2 && done > let_go_least) {
    kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(done));
    begin = read;
  }
}

StreamChecker::Direction& StreamChecker::direction(const Flow& flow, Side writer) {
  if (flow.id.value >= flows_.size()) {
    flows_.resize(std::size_t{flow.id.value} + 1);
  }
  return flows_[flow.id.value][static_cast<std::uint32_t>(writer)];
}

void StreamChecker::report(const StreamNote& note, std::string_view what, std::uint64_t expected,
                           std::uint64_t found) {
  findings_.add({CheckerKind::stream, note.at, note.flow->app, what, expected, found});
}

void StreamChecker::wrote(const Kernel&, const StreamNote& note) {
  Direction& to = direction(*note.flow, note.side);
  if (note.offset != to.written()) {
    report(note, "written at another offset than the stream's end", to.written(), note.offset);
    return;
  }
  to.kept.insert(to.kept.end(), note.bytes.begin(), note.bytes.end());
}

void StreamChecker::read(const Kernel&, const StreamNote& note) {
  Direction& from = direction(*note.flow, other(note.side));
  std::uint64_t const begin = from.read;
  from.read += note.bytes.size();
  if (note.offset != begin && !from.wrong) {
    from.wrong = true;
    report(note, "read at another offset than the last read's end", begin, note.offset);
  }
  if (note.flow->foreign || from.wrong) {
    return;
  }
  if (from.read > from.written()) {
    from.wrong = true;
    report(note, "read more octets than were written", from.written(), from.read);
    return;
  }
  bool const same = std::memcmp(from.kept.data() + (begin - from.begin), note.bytes.data(),
                                note.bytes.size()) == 0;
  bool const excused = alteration_ != nullptr && alteration_->text_altered();
  if (!same && !excused) {
    from.wrong = true;
    report(note, "read other octets than were written, from this offset on", begin, begin);
  }
  from.let_go_of_read();
}

void StreamChecker::judge_end(const Kernel& kernel, const Flow& flow) {
  if (flow.foreign || flow.joined) {
    return;
  }
  for (Side const side : {Side::opener, Side::acceptor}) {
    FlowEnd const& reader = flow.end(side);
    FlowEnd const& writer = flow.end(other(side));
    bool const friendly = reader.cause == Cause::finished && writer.cause == Cause::finished &&
                          reader.peer_finished && writer.peer_finished;
    if (friendly && reader.read != writer.written) {
      findings_.add({CheckerKind::stream, kernel.now(), flow.app,
                     "both ends finished, but not all that was written was read", writer.written,
                     reader.read});
    }
  }
}

void StreamChecker::ended(const Kernel& kernel) {
  for (const Flow& flow : kernel.ledger().flows()) {
    judge_end(kernel, flow);
  }
}

}  // namespace lockstep::sim
