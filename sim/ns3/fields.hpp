// Every field of Config as an attribute of ns-3, by its name in ns-3's spelling.
#pragma once

#include <ns3/type-id.h>

#include <string>
#include <string_view>

#include "core/stack/config.hpp"

namespace ns3 {

/// What has attributes that are fields of a Config.
class LockstepConfigured {
 public:
  virtual ~LockstepConfigured() = default;
  /// The configuration that the attributes speak of.
  virtual lockstep::Config& Fields() = 0;
  virtual const lockstep::Config& Fields() const = 0;
  /// Whether they may still be set; false: that it is too late has been said.
  virtual bool MayStillSet(std::string_view attribute) const = 0;
};

/// `receive_buffer_bytes` is `ReceiveBufferBytes`.
std::string LockstepAttributeName(std::string_view field);

/// Adds an attribute for each field that a world of the simulator may set, with its range and the
/// default of a bare Config. The objects of this type are LockstepConfigured.
TypeId AddLockstepFields(TypeId tid);

}  // namespace ns3
