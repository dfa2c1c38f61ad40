// The program `lockstep`.
#include "tools/cli/program.hpp"

int main(int count, char** arguments) { return lockstep::tools::run_program(count, arguments); }
