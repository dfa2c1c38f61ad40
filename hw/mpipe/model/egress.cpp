// Sends packets: descriptors by their generation bit, gathering, checksum, wire, completion.
#include <algorithm>
#include <cstring>

#include "core/wire/checksum.hpp"
#include "core/wire/octets.hpp"
#include "hw/mpipe/model/machine.hpp"

namespace lockstep::hw::mpipe {

// Bounded by the ring, because each round takes a packet off it.
void Machine::fetch(std::uint32_t ring) {
  while (take_packet(ring)) {
  }
  complete();
}

bool Machine::take_packet(std::uint32_t index) {
  EdmaRing& ring = edma_table[index];
  pieces_.clear();
  bool bound = false;
  while (!bound) {
    std::uint64_t const slot = ring.next + pieces_.size();
    gxio_mpipe_edesc_t edesc;
    std::memcpy(
        &edesc,
        memory_.at({ring.at.value + static_cast<std::uint32_t>(slot & (ring.entries - 1)) * 16}),
        sizeof edesc);
    // Slots not yet put hold descriptors of the last lap, with the opposite bit.
    if (edesc.gen != ((slot >> ring.log2 & 1) == 0 ? 1 : 0) || pieces_.size() == ring.entries) {
      return false;
    }
    pieces_.push_back(edesc);
    bound = edesc.bound != 0;
  }
  auto const count = static_cast<std::uint32_t>(pieces_.size());
  bool const whole = gather(count);
  bool const sends = whole && !packet_.empty();
  if (sends && pieces_[0].csum != 0) {
    insert_sum(pieces_[0], ring);
  }
  ring.next += count;
  Wire* const wire = link_up_[ring.channel] ? wires_[ring.channel] : nullptr;
  put_under_way(index, count, sends && wire != nullptr && ring.channel < loop_first);
  if (sends) {
    ++stats_.egress_packets;
    stats_.egress_bytes += packet_.size();
    if (ring.channel >= loop_first) {
      arrive(packet_, ring.channel);
    } else if (wire != nullptr) {
      wire->leave(packet_);
    } else {
      ++discarded_;
    }
  }
  return true;
}

bool Machine::gather(std::uint32_t count) {
  packet_.clear();
  bool whole = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    gxio_mpipe_edesc_t const& piece = pieces_[i];
    if (piece.ns != 0 || piece.xfer_size == 0) {
      continue;
    }
    Offset const from = Memory::offset_of_bus(piece.va);
    auto const bytes = static_cast<std::uint32_t>(piece.xfer_size);
    if (!registered(static_cast<std::uint32_t>(piece.stack_idx), from, bytes)) {
      sin(Sin::unregistered_send);
      whole = false;
      continue;
    }
    if (std::memcmp(memory_.visible_at(from), memory_.at(from), bytes) != 0) {
      sin(Sin::stale_send);
    }
    packet_.insert(packet_.end(), memory_.visible_at(from), memory_.visible_at(from) + bytes);
  }
  return whole;
}

void Machine::insert_sum(const gxio_mpipe_edesc_t& first, const EdmaRing& ring) {
  std::size_t const start = static_cast<std::size_t>(first.csum_start);
  std::size_t const at = static_cast<std::size_t>(first.csum_dest);
  if (packet_.size() > ring.store_bytes || start >= packet_.size() || at + 2 > packet_.size()) {
    sin(Sin::sum_too_long);
    return;
  }
  std::array<std::byte, 2> const seed{static_cast<std::byte>(first.csum_seed >> 8),
                                      static_cast<std::byte>(first.csum_seed & 0xff)};
  wire::Partial const all =
      wire::combine(wire::sum(seed), wire::sum(std::span(packet_).subspan(start)));
  wire::store16(packet_.data() + at, all.checksum());
}

void Machine::put_under_way(std::uint32_t ring, std::uint32_t count, bool departs) {
  Duration const wait =
      chance(errors_.late) ? errors_.completion + errors_.late_by : errors_.completion;
  Departures& departures = departures_[edma_table[ring].channel];
  for (std::uint32_t i = 0; i < count; ++i) {
    gxio_mpipe_edesc_t const& piece = pieces_[i];
    Flight flight;
    flight.ring = static_cast<std::uint8_t>(ring);
    flight.stack = static_cast<std::uint8_t>(piece.stack_idx);
    flight.departs = departs && i + 1 == count;
    flight.at = times_.now + wait;
    // The buffer of a piece without data is ignored.
    if (piece.hwb != 0 && (piece.xfer_size != 0 || piece.ns != 0)) {
      flight.buffer = {Memory::offset_of_bus(piece.va).value & ~(Memory::block_bytes - 1)};
      flight.returns = memory_.place_of(flight.buffer) == Place::driver;
      if (flight.returns) {
        memory_.move({flight.buffer, stack_table[flight.stack].bytes}, Place::edma);
      } else {
        sin(Sin::send_not_held);
      }
    }
    departures.departing += flight.departs ? 1 : 0;
    departures.flights.push_back(flight);
  }
}

void Machine::complete() {
  for (std::uint32_t channel = 0; channel < links; ++channel) {
    if (!departures_[channel].flights.empty()) {
      complete(channel);
    }
  }
}

// Completes in order: a late packet delays those behind it on its link.
void Machine::complete(std::uint32_t channel) {
  auto& [flights, first, departing] = departures_[channel];
  std::uint32_t const waiting = departing != 0 ? wires_[channel]->waiting() : 0;
  while (first < flights.size()) {
    Flight const flight = flights[first];
    if (flight.at > times_.now || (flight.departs && departing <= waiting)) {
      break;
    }
    departing -= flight.departs ? 1 : 0;
    ++edma_table[flight.ring].completed;
    if (flight.returns) {
      put_in_stack(flight.stack, flight.buffer);
    }
    ++first;
  }
  if (first * 2 >= flights.size()) {
    flights.erase(flights.begin(), flights.begin() + first);
    first = 0;
  }
}

Instant Machine::deadline() const {
  Instant all = Instant::never();
  for (std::uint32_t channel = 0; channel < links; ++channel) {
    all = earlier(all, deadline(channel));
  }
  return all;
}

Instant Machine::deadline(std::uint32_t channel) const {
  Instant const ready = times_.now < not_ready_until_ ? not_ready_until_ : Instant::never();
  Departures const& departures = departures_[channel];
  if (departures.first == departures.flights.size()) {
    return ready;
  }
  Flight const& flight = departures.flights[departures.first];
  Wire const* const wire = wires_[channel];
  Instant at = flight.at;
  if (flight.departs && wire != nullptr && !wire->first_departure().is_never()) {
    at = later(at, wire->first_departure());
  }
  return earlier(ready, at);
}

}  // namespace lockstep::hw::mpipe
