// Many short connections: connect, 64 bytes each way, close on both sides.
#pragma once

#include <cstdint>
#include <memory>

#include "tools/lib/pair/pair.hpp"
#include "tools/proofs/bench/result.hpp"

namespace lockstep::tools::benchmark {

struct TransactionSettings {
  LinkType link = LinkType::ip;
  bool extensions = false;
  Count at_once{1};
  std::uint64_t count = 100'000;
};

// The server answers and closes first, like an HTTP/1.0 server: six frames per transaction, and
// TIME-WAIT on its side. The client draws its ports (RFC 6056).
class Transactions {
 public:
  explicit Transactions(const TransactionSettings& settings);
  ~Transactions();
  Transactions(const Transactions&) = delete;
  Transactions& operator=(const Transactions&) = delete;

  // Runs until the requested number of connections is open at the same time.
  void warm_up();
  // Completes the requested number of transactions, with that many connections always open.
  Result run();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::tools::benchmark
