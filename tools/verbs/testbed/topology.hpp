// The network of a testbed: client side, box, server side, and the counters on all of them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "tools/verbs/testbed/account.hpp"
#include "tools/verbs/testbed/options.hpp"
#include "tools/verbs/testbed/process.hpp"

namespace lockstep::tools {

/// One end: the namespace of its programs, and its name and addresses.
struct End {
  const Netspace* where = nullptr;
  std::string name;  ///< client, server
  std::string interface;
  std::vector<std::string> addresses;  ///< with their prefixes
  std::string gateway;                 ///< empty: the other end is on the link
};

/// The constructor builds the network; the destructor, or the end of the process, removes it.
class Topology {
 public:
  /// Throws Failure: bad input, or the environment.
  explicit Topology(const TestbedOptions& options);

  const End& client() const { return ends_[0]; }
  const End& server() const { return ends_[1]; }
  /// The counters so far.
  Counted count() const;

 private:
  void take_interfaces(const TestbedOptions& options);
  void build(const TestbedOptions& options);
  void make_links(const TestbedOptions& options);
  void set_up_router();
  void set_up_bridge();
  void load_rules(const TestbedOptions& options);
  Tally tally(std::size_t end, bool offered) const;
  std::vector<Cause> causes() const;

  Netspace own_;
  std::optional<Netspace> client_, box_, server_;
  std::array<End, 2> ends_;
  std::vector<Cause> before_;
  std::unique_ptr<Afterwards> tidy_up_;  ///< removes what is in the user's own namespace
  std::string remainder_;
};

}  // namespace lockstep::tools
