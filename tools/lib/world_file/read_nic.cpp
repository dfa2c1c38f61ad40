// Reads the NIC of a host: `driver`, and its [host.NIC].
#include <fmt/format.h>

#include "tools/base/text/units.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"
#include "tools/lib/world_file/reader.hpp"

namespace lockstep::tools {

namespace {

sim::NicHash read_hash(Table& keys) {
  const std::string hash = keys.text("hash", "ours");
  if (hash == "ours") {
    return sim::NicHash::ours;
  }
  if (hash == "nic") {
    return sim::NicHash::nic;
  }
  if (hash == "one") {
    return sim::NicHash::one;
  }
  if (hash != "lopsided") {
    keys.wrong("hash", "\"" + hash + "\" was found, expected ours, nic, one or lopsided");
  }
  return sim::NicHash::lopsided;
}

sim::HostIndex read_same_nic_as(Table& table, const WorldInProgress& in) {
  const sim::HostIndex first = host_named(table, "same_nic_as", in);
  const sim::HostSpec& owner = in.world.hosts[first.value];
  if (owner.nic.plain()) {
    table.wrong("same_nic_as", fmt::format("'{}' has no nic of its own, expected a host with "
                                           "driver = \"mpipe\"",
                                           owner.name.view()));
  }
  for (const char* key : {"driver", "nic"}) {
    if (table.has(key)) {
      table.wrong(key, fmt::format("the nic is that of '{0}', whose table says all of it: leave "
                                   "'{1}' out",
                                   owner.name.view(), key));
    }
  }
  return first;
}

}  // namespace

void read_nic(Table& table, sim::HostSpec& host, WorldInProgress& into) {
  if (table.has("same_nic_as")) {
    const auto index = static_cast<std::uint32_t>(into.world.hosts.size());
    into.nics_shared.push_back({read_same_nic_as(table, into), {index}});
    return;
  }
  const std::string driver = table.text("driver", "plain");
  if (driver != "plain" && driver != mpipe_driver) {
    table.wrong("driver", "\"" + driver + "\" was found, expected plain or mpipe");
  }
  const bool has_nic = driver != "plain";
  sim::NicSpec& nic = host.nic;
  nic.driver = has_nic ? sim::Name(driver) : sim::Name();
  if (table.has("nic") && !has_nic) {
    table.wrong("nic", "a host with the plain port has no nic, expected driver = \"mpipe\"");
  }
  Table keys = table.table("nic", "nic of " + table.title());
  const auto chance = [&keys](std::string_view key, Probability otherwise) {
    return keys.parsed(key, otherwise, parse_probability,
                       "a probability in quotes, like \"0.01\" or \"1%\"");
  };
  nic.batch = static_cast<std::uint32_t>(keys.number("batch", nic.batch, {1, 32}));
  nic.hash = read_hash(keys);
  nic.completion = read_duration(keys, "completion", nic.completion);
  nic.no_buffer = chance("no_buffer", nic.no_buffer);
  nic.ring_full = chance("ring_full", nic.ring_full);
  nic.truncated = chance("truncated", nic.truncated);
  nic.bad_sum = chance("bad_sum", nic.bad_sum);
  nic.mispredicted = chance("mispredicted", nic.mispredicted);
  nic.not_ready = chance("not_ready", nic.not_ready);
  nic.late = chance("late", nic.late);
  nic.late_by = read_duration(keys, "late_by", nic.late_by);
  nic.link_up_for = read_duration(keys, "link_up_for", nic.link_up_for);
  nic.link_down_for = read_duration(keys, "link_down_for", nic.link_down_for);
  nic.errors_until =
      Instant{0} + read_duration(keys, "errors_until", nic.errors_until.since(Instant{0}));
  keys.end();
  if (const auto fault = sim::fault_of_nic(host); !fault.empty()) {
    table.wrong("driver", std::string(fault));
  }
}

}  // namespace lockstep::tools
