// Which address, MAC address, port and number stands for which in an anonymised capture.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/hash.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::tools {

/// What the first pass finds out about the hosts: which of them have numbers that mean something by
/// themselves, and so are not shifted.
class Hosts {
 public:
  struct Facts {
    std::optional<std::uint32_t> first_stamp;
    bool zero_stamp = false;   ///< it has sent a timestamp of 0, whose echo looks like none
    bool zero_number = false;  ///< 0 is a sequence number of its connections, not only of resets
  };

  void take(const Segment& segment);
  /// Nothing is known of a host that sent no TCP.
  Facts of(const IpAddress& host) const;

 private:
  std::map<IpAddress, Facts> all_;
};

/// The same host has the same alias in the whole file. Addresses of hosts are given out in the
/// order of their first packets, from the ranges for documentation and tests.
class Aliases {
 public:
  /// `keep_numbers`: sequence numbers and timestamps are not shifted.
  Aliases(const HashKey& secret, Hosts hosts, bool keep_numbers);

  /// Forgets the aliases of all addresses.
  void begin();

  /// Throws Failure (bad_input) if there are more than 2^20 addresses.
  IpAddress of(const IpAddress& address);
  Endpoint of(const Endpoint& end) { return {of(end.address), of(end.port)}; }
  /// The alias is below 1024 if the port is. 0 stays 0.
  Port of(Port port) const { return Port{(*ports_)[port.value]}; }
  Mac of(const Mac& mac);

  /// What is added to the sequence numbers of all connections of a host, and to its timestamps.
  std::uint32_t number_shift(const IpAddress& host) const;
  std::uint32_t stamp_shift(const IpAddress& host) const;
  const HashKey& secret() const { return secret_; }

  std::uint64_t addresses_v4() const { return v4_; }
  std::uint64_t addresses_v6() const { return v6_; }
  std::uint64_t macs() const { return macs_.size(); }

 private:
  IpAddress next_v4(Ipv4 address);
  IpAddress next_v6(const IpAddress& address);

  HashKey secret_;
  Hosts hosts_;
  bool keep_numbers_;
  std::map<IpAddress, IpAddress> addresses_;
  std::map<Mac, Mac> macs_;
  std::unique_ptr<std::array<std::uint16_t, 65'536>> ports_;
  std::array<std::uint32_t, 6> used_v4_{};  ///< by class of address
  std::array<std::uint64_t, 3> used_v6_{};
  std::uint64_t v4_ = 0, v6_ = 0;
};

}  // namespace lockstep::tools
