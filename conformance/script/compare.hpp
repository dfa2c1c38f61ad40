// An expected packet beside the one that left: field by field, in the script's numbers.
#pragma once

#include <string>
#include <vector>

#include "conformance/script/flow.hpp"
#include "conformance/script/packet.hpp"

namespace lockstep::conformance::script {

/// A line of the two columns.
struct Row {
  std::string field, expected, actual;
  bool differs = false;
};

/// Learns what the flow does not know yet, of a packet that is expected: our port, where our
/// numbers begin, which stamp is which.
void learn(const Packet& expected, const Live& live, Flow& flow);

/// All fields that the script speaks of. `stamps`: TSval is compared too.
std::vector<Row> compare(const Packet& expected, const Live& live, const Flow& flow, bool stamps);
bool differ(const std::vector<Row>& rows);

/// Joins `next` to the end of `whole`, if it goes on where that ends, as receive offload would:
/// nothing but what ends a segment may differ. False: it does not.
bool join(Live& whole, const Live& next, std::uint32_t segment_bytes);

}  // namespace lockstep::conformance::script
