// Compares an expected packet with the one sent: field by field, in the script's numbers.
#pragma once

#include <string>
#include <vector>

#include "conformance/script/flow.hpp"
#include "conformance/script/packet.hpp"

namespace lockstep::conformance::script {

/// One field in the two columns.
struct Row {
  std::string field, expected, actual;
  bool differs = false;
};

/// Numbers a packet: a SYN that opens the flow is `first` in the script, and a reset that answers a
/// segment without an ACK has its own number, 0 (RFC 9293 3.10.7.1).
void number(const Live& live, std::uint32_t first, Flow& flow);

/// Derives from an expected packet what the flow does not know yet: our port, our initial sequence
/// number, and the timestamp values.
void learn(const Packet& expected, const Live& live, Flow& flow);

/// All fields that the script specifies. `stamps`: compare TSval too.
std::vector<Row> compare(const Packet& expected, const Live& live, const Flow& flow, bool stamps);
bool differ(const std::vector<Row>& rows);

/// Appends `next` to `whole` if its data is contiguous, as receive offload would: other fields must
/// be equal, except those of the last segment. False: not appended.
bool join(Live& whole, const Live& next, std::uint32_t segment_bytes);

/// For another stack than ours: the RFCs leave to a receiver how large a window it offers, and do
/// not require PSH (RFC 9293 3.9.1.2), so these two do not differ then.
void allow_choices(std::vector<Row>& rows);
/// PSH alone does not differ.
void allow_push(std::vector<Row>& rows);

}  // namespace lockstep::conformance::script
