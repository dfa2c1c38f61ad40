// Runs a script on a stack in virtual time and says what did not come as it should.
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

/// The first thing that went wrong; a run ends there.
struct Finding {
  Place place;
  std::string what;       ///< one line
  std::vector<Row> rows;  ///< expected beside actual; empty where it is about no packet
  std::string next;       ///< what came, or would have come, instead
  std::string state;      ///< of the connection
};

enum class Verdict : std::uint8_t { passed, failed, bad };

struct Ran {
  std::string file;
  Verdict verdict = Verdict::passed;
  std::string error;  ///< of a script that cannot be run: one line, its file in front
  int exit_code = 0;  ///< as that of the verb would be for this script alone
  Finding finding;
  std::string line;   ///< of the script, where the finding is
  std::string state;  ///< of the connection at the end of a run that passed
  std::uint64_t virtual_ns = 0;
  std::uint32_t events = 0, packets_in = 0, packets_out = 0;
  std::vector<std::byte> capture;  ///< pcapng; of a run that failed, or of which it is asked
  std::string capture_path;        ///< where it is saved; empty: nowhere so far
};

/// For set_check_handler: what failed, and the line of the script that this thread was at.
void print_failed_check(const CheckSite& site);

/// Runs a script that has been read. Throws Failure (bad_input) where it asks for what cannot be.
Ran run(const Script& script, const Overrides& overrides, Arena& arena);
/// Reads and runs; what is wrong with the script is in what is given back.
Ran run_file(const std::string& path, const Defines& defines, const Overrides& overrides,
             Arena& arena);

/// The finding for people: the line, two columns, the state.
std::string finding_text(const Ran& ran);

}  // namespace lockstep::conformance::script
