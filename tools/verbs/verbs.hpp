// The verbs of the program: one function per folder, listed here and called by main() in this
// order.
#pragma once

#include <array>

namespace CLI {
class App;
}

namespace lockstep::tools {

/// Adds one verb to the program: options, help, an example in the footer, and a callback that runs
/// when the verb is chosen and stores the verb's exit code (see failure.hpp) in `exit_code`, which
/// must outlive the parse.
using RegisterVerb = void (*)(CLI::App& app, int& exit_code);

// To add a verb: write its function in its own folder, declare it here, and list it below.
void register_coverage(CLI::App& app, int& exit_code);
void register_clause(CLI::App& app, int& exit_code);
void register_sim(CLI::App& app, int& exit_code);
void register_swarm(CLI::App& app, int& exit_code);
void register_hostile(CLI::App& app, int& exit_code);
void register_matrix(CLI::App& app, int& exit_code);
void register_replay(CLI::App& app, int& exit_code);
void register_conformance(CLI::App& app, int& exit_code);
void register_pkt(CLI::App& app, int& exit_code);
void register_lint(CLI::App& app, int& exit_code);
void register_anonymise(CLI::App& app, int& exit_code);
void register_devices(CLI::App& app, int& exit_code);
void register_overlaps(CLI::App& app, int& exit_code);
void register_compare(CLI::App& app, int& exit_code);
void register_profiles(CLI::App& app, int& exit_code);
void register_serve(CLI::App& app, int& exit_code);
void register_load(CLI::App& app, int& exit_code);
void register_doctor(CLI::App& app, int& exit_code);
void register_ns3(CLI::App& app, int& exit_code);
void register_plot(CLI::App& app, int& exit_code);
void register_paper(CLI::App& app, int& exit_code);
void register_testbed(CLI::App& app, int& exit_code);
void register_sweep(CLI::App& app, int& exit_code);

inline constexpr auto verbs = std::to_array<RegisterVerb>({
    register_coverage, register_clause,    register_sim,     register_swarm,
    register_hostile,  register_matrix,    register_replay,  register_conformance,
    register_pkt,      register_lint,      register_devices, register_overlaps,
    register_compare,  register_profiles,  register_serve,   register_load,
    register_doctor,   register_ns3,       register_plot,    register_testbed,
    register_sweep,    register_anonymise, register_paper,
});

}  // namespace lockstep::tools
