// Every field of Config as an ns-3 attribute, with its name in ns-3's spelling.
#pragma once

#include <ns3/type-id.h>

#include <string>
#include <string_view>

#include "core/stack/config.hpp"

namespace ns3 {

/// A class with attributes that are fields of a Config.
class LockstepConfigured {
 public:
  virtual ~LockstepConfigured() = default;
  /// The configuration that the attributes set.
  virtual lockstep::Config& Fields() = 0;
  virtual const lockstep::Config& Fields() const = 0;
  /// Whether attributes may still be set; if false, an error has been printed.
  virtual bool MayStillSet(std::string_view attribute) const = 0;
};

/// For example `receive_buffer_bytes` becomes `ReceiveBufferBytes`.
std::string LockstepAttributeName(std::string_view field);

/// Adds an attribute for each field that a world of the simulator may set, with its range and the
/// default of Config{}. The objects of this type must derive from LockstepConfigured.
TypeId AddLockstepFields(TypeId tid);

}  // namespace ns3
