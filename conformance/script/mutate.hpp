// Changes of an arriving packet's fields, as a script writes them: {rep tcp 12 0x70}.
#pragma once

#include <cstddef>
#include <vector>

#include "conformance/script/cursor.hpp"
#include "conformance/script/syntax.hpp"

namespace lockstep::conformance::script {

/// Parses the changes after `{`, up to `}`: `rep HEADER WHERE OCTETS`, `ins HEADER WHERE OCTETS`,
/// `trun HEADER WHERE LENGTH`, several with `;` or `,`.
std::vector<Mutation> parse_mutations(Cursor& cursor, IpMode mode);

/// Carries them out in order; offsets in TCP count from where it begins then. The lengths and
/// checksums of the headers follow, with the addresses that the packet has afterwards, unless a
/// change sets them itself.
void mutate(std::vector<std::byte>& packet, const std::vector<Mutation>& mutations);

}  // namespace lockstep::conformance::script
