// Packets to records and back, for lockstep/fields.py.
#include <nanobind/nanobind.h>

#include "tools/python/binding/bindings.hpp"
#include "tools/python/binding/convert.hpp"
#include "tools/python/fields.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lockstep::tools::python {
namespace {

/// The records of a list of (at, packet).
nb::bytes records_of(const nb::list& packets) {
  std::vector<std::byte> out;
  out.reserve(packets.size() * record_bytes);
  for (nb::handle each : packets) {
    auto const pair = nb::cast<nb::tuple>(each);
    append_record(Instant{nb::cast<std::uint64_t>(pair[0])},
                  bytes_of(nb::borrow<nb::bytes>(pair[1])), out);
  }
  return to_python(out);
}

/// `payloads` has one entry for each whole record.
nb::list packets_of(const nb::bytes& records, const nb::list& payloads) {
  nb::list out;
  Packet rest = bytes_of(records);
  for (nb::handle payload : payloads) {
    out.append(
        to_python(packet_of(rest.first(record_bytes), bytes_of(nb::borrow<nb::bytes>(payload)))));
    rest = rest.subspan(record_bytes);
  }
  return out;
}

}  // namespace

void bind_fields(nb::module_& module) {
  module.attr("RECORD_BYTES") = record_bytes;
  module.def("records_of", &records_of, "packets"_a, "A record of each (at, packet).");
  module.def("packets_of", &packets_of, "records"_a, "payloads"_a, "A packet of each record.");
}

}  // namespace lockstep::tools::python
