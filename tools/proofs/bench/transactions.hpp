// Many short connections: connect, 64 bytes there, 64 bytes back, both sides close.
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

// The server answers and closes first, as a server of HTTP/1.0 does: six frames a transaction, and
// TIME-WAIT on its side. The client draws its ports (RFC 6056).
class Transactions {
 public:
  explicit Transactions(const TransactionSettings& settings);
  ~Transactions();
  Transactions(const Transactions&) = delete;
  Transactions& operator=(const Transactions&) = delete;

  // Runs until as many as asked for are under way at once.
  void warm_up();
  // Completes as many as the settings ask for, while that many are always under way.
  Result run();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::tools::benchmark
