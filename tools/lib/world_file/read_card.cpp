// The card of a host: `driver`, and its [host.card].
#include <fmt/format.h>

#include "tools/lib/sim_nic/mpipe_card.hpp"
#include "tools/lib/world_file/reader.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {

namespace {

sim::CardHash read_hash(Table& keys) {
  const std::string hash = keys.text("hash", "ours");
  if (hash == "ours") {
    return sim::CardHash::ours;
  }
  if (hash == "card") {
    return sim::CardHash::card;
  }
  if (hash == "one") {
    return sim::CardHash::one;
  }
  if (hash != "lopsided") {
    keys.wrong("hash", "\"" + hash + "\" was found, expected ours, card, one or lopsided");
  }
  return sim::CardHash::lopsided;
}

sim::HostIndex read_card_of(Table& table, const WorldInProgress& in) {
  const sim::HostIndex first = host_named(table, "card_of", in);
  const sim::HostSpec& owner = in.world.hosts[first.value];
  if (owner.card.plain()) {
    table.wrong("card_of", fmt::format("'{}' has no card of its own, expected a host with "
                                       "driver = \"mpipe\"",
                                       owner.name.view()));
  }
  for (const char* key : {"driver", "card"}) {
    if (table.has(key)) {
      table.wrong(key, fmt::format("the card is that of '{0}', whose table says all of it: leave "
                                   "'{1}' out",
                                   owner.name.view(), key));
    }
  }
  return first;
}

}  // namespace

void read_card(Table& table, sim::HostSpec& host, WorldInProgress& into) {
  if (table.has("card_of")) {
    const auto index = static_cast<std::uint32_t>(into.world.hosts.size());
    into.cards_shared.push_back({read_card_of(table, into), {index}});
    return;
  }
  const std::string driver = table.text("driver", "plain");
  if (driver != "plain" && driver != mpipe_driver) {
    table.wrong("driver", "\"" + driver + "\" was found, expected plain or mpipe");
  }
  const bool has_card = driver != "plain";
  sim::CardSpec& card = host.card;
  card.driver = has_card ? sim::Name(driver) : sim::Name();
  if (table.has("card") && !has_card) {
    table.wrong("card", "a host with the plain port has no card, expected driver = \"mpipe\"");
  }
  Table keys = table.table("card", "card of " + table.title());
  const auto chance = [&keys](std::string_view key, Probability otherwise) {
    return keys.parsed(key, otherwise, parse_probability,
                       "a probability as a text, like \"0.01\" or \"1%\"");
  };
  card.batch = static_cast<std::uint32_t>(keys.number("batch", card.batch, {1, 32}));
  card.hash = read_hash(keys);
  card.completion = read_duration(keys, "completion", card.completion);
  card.no_buffer = chance("no_buffer", card.no_buffer);
  card.ring_full = chance("ring_full", card.ring_full);
  card.truncated = chance("truncated", card.truncated);
  card.bad_sum = chance("bad_sum", card.bad_sum);
  card.mispredicted = chance("mispredicted", card.mispredicted);
  card.not_ready = chance("not_ready", card.not_ready);
  card.late = chance("late", card.late);
  card.late_by = read_duration(keys, "late_by", card.late_by);
  card.link_up_for = read_duration(keys, "link_up_for", card.link_up_for);
  card.link_down_for = read_duration(keys, "link_down_for", card.link_down_for);
  card.errors_until = Instant{0} + read_duration(keys, "errors_until",
                                                 card.errors_until.since(Instant{0}));
  keys.end();
  if (const auto fault = sim::fault_of_card(host); !fault.empty()) {
    table.wrong("driver", std::string(fault));
  }
}

}  // namespace lockstep::tools
