// Runs a script on a stack in virtual time and reports the first deviation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/script/compare.hpp"
#include "conformance/script/settings.hpp"
#include "conformance/script/syntax.hpp"
#include "conformance/script/world.hpp"
#include "core/units/check.hpp"

namespace lockstep::conformance::script {

/// The first deviation; a run ends there.
struct Finding {
  Place place;
  std::string what;       ///< one line
  std::vector<Row> rows;  ///< expected and actual; empty if the finding is not about a packet
  std::string next;       ///< what was sent, or would have been next, instead
  std::string state;      ///< state of the connection
};

/// left_out: a device does not have what the script asks for.
enum class Verdict : std::uint8_t { passed, failed, bad, left_out };

struct Ran {
  std::string file;
  Verdict verdict = Verdict::passed;
  std::string error;          ///< if the script cannot be run: one line that begins with its file
  std::string reason;         ///< why it was left out
  std::vector<Note> notes;    ///< what was not carried out
  std::uint32_t unasked = 0;  ///< assertions about variables that a device does not show
  int exit_code = 0;          ///< as the verb returns for this script alone
  Finding finding;
  std::string line;   ///< the line of the script at the finding
  std::string state;  ///< state of the connection at the end of a run that passed
  std::uint64_t virtual_ns = 0;
  std::uint32_t events = 0, packets_in = 0, packets_out = 0;
  std::vector<std::byte> capture;  ///< pcapng; for a failed run, or if requested
  std::string capture_path;        ///< where it is saved; empty: not saved so far
};

/// For set_check_handler: prints the failed check and the script line that this thread was running.
void print_failed_check(const CheckSite& site);

/// Runs a parsed script. Throws Failure (bad_input) if it requests something unsupported.
Ran run(const Script& script, const Overrides& overrides, Arena& arena);
/// Parses and runs a script; errors of the script are in the result.
Ran run_file(const std::string& path, const Defines& defines, const Overrides& overrides,
             Arena& arena);

/// The finding for people: the line, two columns, the state.
std::string finding_text(const Ran& ran);

}  // namespace lockstep::conformance::script
