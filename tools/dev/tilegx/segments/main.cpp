// Runs a workload of tools/proofs/bench on any machine, to count its instructions from outside.
//
// lockstep-segments copied|lent COUNT sends COUNT full segments over one connection;
// lockstep-segments transactions COUNT opens and closes COUNT connections, one at a time. Prints
// the numbers of units, frames and bytes, which must be equal on two machines.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/proofs/bench/bulk.hpp"
#include "tools/proofs/bench/transactions.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::tools::benchmark;

Result run_bulk(Writing writing, std::uint64_t count) {
  BulkSettings settings;
  // Small pools, so that less memory is touched: the count begins with the program.
  settings.pair.connections_max = Count{8};
  settings.pair.active_max = Count{8};
  settings.pair.blocks_max = Count{64};
  settings.writing = writing;
  settings.segments = count;
  Bulk bulk(settings);
  bulk.warm_up();
  return bulk.run();
}

Result run_transactions(std::uint64_t count) {
  TransactionSettings settings;
  settings.count = count;
  Transactions transactions(settings);
  transactions.warm_up();
  return transactions.run();
}

void print(const char* name, std::uint64_t value) {
  char text[24];
  auto const written = std::to_chars(text, text + sizeof text - 1, value);
  *written.ptr = '\0';
  std::fputs(name, stdout);
  std::fputs(text, stdout);
}

int refuse() {
  std::fputs("usage: lockstep-segments copied|lent|transactions COUNT\n", stderr);
  return 2;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3 || arguments[2][0] < '1' || arguments[2][0] > '9') {
    return refuse();
  }
  const char* const workload = arguments[1];
  char* end = nullptr;
  std::uint64_t const count = std::strtoull(arguments[2], &end, 10);
  bool const lent = std::strcmp(workload, "lent") == 0;
  bool const transactions = std::strcmp(workload, "transactions") == 0;
  if (*end != '\0' || (!lent && !transactions && std::strcmp(workload, "copied") != 0)) {
    return refuse();
  }
  Result const result = transactions ? run_transactions(count)
                                     : run_bulk(lent ? Writing::lent : Writing::copied, count);
  print("units ", result.units);
  print(" frames ", result.frames);
  print(" bytes ", result.bytes);
  print(" retransmissions ", result.retransmissions);
  print(" drops ", result.drops);
  std::fputs("\n", stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
