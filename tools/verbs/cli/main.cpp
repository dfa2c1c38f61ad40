// The program `lockstep`.
#include "tools/verbs/cli/program.hpp"

int main(int count, char** arguments) { return lockstep::tools::run_program(count, arguments); }
