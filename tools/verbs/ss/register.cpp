// Registers the verb `ss`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/verbs/ss/ss.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_ss(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "ss", "Lists the connections of running servers and loads, with filters as Linux's ss has");
  auto const options = std::make_shared<SsOptions>();
  verb->add_option(
      "FILTER", options->filter,
      "state NAME, exclude NAME, sport OP :PORT, dport OP :PORT, src PLACE, dst PLACE, "
      "joined by and, or, not and parentheses");
  verb->add_option("--control", options->control,
                   "the control socket of one program (default: all in /run/lockstep)");
  verb->add_flag("--json", options->json, "print JSON, with all variables");
  verb->footer(
      "recv-q: octets that the application has not read; of a listener the connections that wait.\n"
      "send-q: octets not acknowledged yet; of a listener the most that may wait.\n"
      "States also: all, connected, synchronized, bucket (TIME-WAIT and SYN-RECEIVED).\n"
      "OP: = != > < >= <=. PLACE: ADDRESS, ADDRESS/PREFIX, ADDRESS:PORT, [ADDRESS]:PORT.\n"
      "Records are copied 64 at a time while the program runs, so a list is not of one instant.\n"
      "Example: lockstep ss state established dst 10.9.0.0/24 and dport '>' :1024\n"
      "         lockstep ss --json '( sport = :80 or sport = :443 ) and not state time-wait'");
  verb->callback([options, &exit_code] { exit_code = run_ss(*options); });
}

}  // namespace lockstep::tools
