// Every reason for which a received frame can be dropped, by name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/listed_enum.hpp"

namespace lockstep {

// X(name, reason). The order is stable: counters and fingerprints depend on it.
#define LOCKSTEP_DROPS(X)                                                          \
  X(frame_too_short, "the frame ends inside its link header")                      \
  X(frame_not_for_us, "the link address is another host's")                        \
  X(frame_bad_source, "the link source is a group address")                        \
  X(ethertype_unknown, "unsupported EtherType")                                    \
  X(frame_other_vlan, "the 802.1Q tag is missing, or not ours")                    \
  X(arp_malformed, "lengths, types or operation are not Ethernet/IPv4 ARP")        \
  X(arp_unsolicited, "a reply without a request")                                  \
  X(arp_not_for_us, "the request asks for another host")                           \
  X(arp_bad_sender, "the sender's addresses are invalid, or ours")                 \
  X(arp_conflict, "another host has an address of ours")                           \
  X(arp_static_conflict, "contradicts a static entry")                             \
  X(arp_cache_full, "the neighbour cache is full")                                 \
  X(ip_too_short, "the packet ends inside its IP header")                          \
  X(ip_version, "an IP version that is unsupported or not of the EtherType")       \
  X(ip_header_length, "the header length is under 20 or beyond the packet")        \
  X(ip_total_length, "the total length is beyond the frame or within the header")  \
  X(ip_checksum, "the header checksum is wrong")                                   \
  X(ip_source_invalid, "the source is broadcast, multicast, reserved or ours")     \
  X(ip_not_for_us, "the destination is not one of our addresses")                  \
  X(ip_link_broadcast, "a link broadcast with a unicast IP destination")           \
  X(ip_fragment, "a fragment, and reassembly is off")                              \
  X(ip_fragment_malformed, "a fragment with an invalid length or offset")          \
  X(ip_fragment_again, "a duplicate fragment")                                     \
  X(ip_fragment_overlap, "overlapping fragments: the datagram is discarded")       \
  X(ip_fragment_full, "no space for another fragment, or for its source")          \
  X(ip_option_malformed, "an option has an invalid length")                        \
  X(ip_source_routed, "a source route that leads to another host")                 \
  X(ip_protocol_unknown, "unsupported protocol number")                            \
  X(ip_header_chain, "extension headers that exceed the packet, or too many")      \
  X(ip_option_unknown, "an unknown IPv6 option that must not be skipped")          \
  X(ip_routing_header, "an IPv6 routing header with segments left")                \
  X(ip_no_next_header, "nothing follows the IPv6 headers")                         \
  X(ip_tentative, "the address is still being tested for duplicates")              \
  X(icmp_too_short, "the message ends inside its header")                          \
  X(icmp_checksum, "the ICMP checksum is wrong")                                   \
  X(icmp_type_unknown, "a type that a host ignores")                               \
  X(icmp_source_quench, "deprecated: always ignored")                              \
  X(icmp_quote_malformed, "the quoted packet is too short or not ours")            \
  X(icmp_quote_unknown, "the quoted segment belongs to no connection")             \
  X(icmp_quote_outside, "the quoted sequence number is not in flight")             \
  X(icmp_mtu_refused, "packet too big with an MTU not below our packet size")      \
  X(icmp_echo_to_group, "an echo request to a broadcast or multicast address")     \
  X(icmp_rate, "the limit on ICMP replies is reached")                             \
  X(nd_not_from_link, "neighbour discovery with a hop limit below 255")            \
  X(nd_malformed, "lengths, code or addresses are not neighbour discovery")        \
  X(nd_fragmented, "neighbour discovery behind a fragment header")                 \
  X(nd_not_for_us, "the solicitation asks for another host")                       \
  X(nd_bad_sender, "the sender's addresses are invalid, or ours")                  \
  X(nd_unsolicited, "an advertisement without an entry or link address")           \
  X(nd_static_conflict, "contradicts a static entry")                              \
  X(nd_cache_full, "the neighbour cache is full")                                  \
  X(nd_router, "a router message or redirect that is ignored here")                \
  X(tcp_too_short, "the segment ends inside its header")                           \
  X(tcp_data_offset, "the data offset is under 5 or beyond the segment")           \
  X(tcp_checksum, "the TCP checksum is wrong")                                     \
  X(tcp_option_malformed, "an option has an invalid length")                       \
  X(tcp_port_zero, "a port of zero")                                               \
  X(tcp_to_group, "a segment to or from a broadcast or multicast address")         \
  X(tcp_closed_reset, "no connection: the segment is itself a reset")              \
  X(tcp_closed, "no connection: answered by a reset")                              \
  X(tcp_closed_silent, "no connection: dropped, as Config's closed_silent says")   \
  X(tcp_syn_fin, "SYN and FIN, which Config's syn_fin_dropped drops")              \
  X(tcp_listen_reset, "a reset to a listener")                                     \
  X(tcp_listen_ack, "an ACK to a listener: answered by a reset")                   \
  X(tcp_listen_other, "neither RST, ACK nor SYN to a listener")                    \
  X(tcp_listen_full, "the backlog of the listener is full")                        \
  X(tcp_cookie_unproven, "an ACK whose SYN cookie is invalid")                     \
  X(tcp_connections_full, "no space for another connection")                       \
  X(tcp_quiet_time, "a SYN during the quiet time after boot")                      \
  X(tcp_syn_sent_ack, "SYN-SENT: acknowledges data never sent")                    \
  X(tcp_syn_sent_reset, "SYN-SENT: a reset that does not acknowledge the SYN")     \
  X(tcp_syn_sent_other, "SYN-SENT: neither SYN nor RST")                           \
  X(tcp_timestamp_missing, "no timestamp, though both SYNs had one")               \
  X(tcp_timestamp_old, "PAWS: the timestamp is older than the last one")           \
  X(tcp_out_of_window, "the sequence number is outside the receive window")        \
  X(tcp_reset_outside, "a reset outside the receive window")                       \
  X(tcp_reset_challenged, "a reset inside the window but not at its edge")         \
  X(tcp_reset_time_wait, "a reset to a TIME-WAIT connection, ignored")             \
  X(tcp_syn_challenged, "a SYN on a synchronized connection")                      \
  X(tcp_syn_received_syn, "SYN-RECEIVED: an in-window SYN ends the attempt")       \
  X(tcp_syn_in_window, "RFC 793 policy: an in-window SYN resets the connection")   \
  X(tcp_no_ack, "the ACK flag is not set")                                         \
  X(tcp_syn_received_ack, "SYN-RECEIVED: acknowledges data never sent")            \
  X(tcp_ack_too_old, "the ACK number is older than the largest window seen")       \
  X(tcp_ack_of_unsent, "the ACK number is above SND.NXT")                          \
  X(tcp_closing_ack, "CLOSING: does not acknowledge our FIN")                      \
  X(tcp_time_wait_other, "TIME-WAIT: only a FIN is answered")                      \
  X(tcp_data_after_fin, "data beyond the peer's FIN")                              \
  X(tcp_data_after_close, "data after we closed for reading: answered by a reset") \
  X(tcp_data_beyond_window, "data beyond the right edge of the window")            \
  X(tcp_out_of_order_refused, "the store is low: out-of-order data is refused")    \
  X(tcp_store_full, "the store is full: in-order data is refused")                 \
  X(reply_queue_full, "a reply could not be queued")                               \
  X(wrong_shard, "the flow belongs to another shard")

enum class Drop : std::uint8_t {
  LOCKSTEP_DROPS(LOCKSTEP_ENUMERATOR) none,  // the frame was accepted: not counted
};

inline constexpr std::uint32_t drop_count = static_cast<std::uint32_t>(Drop::none);

// The name as above; "none" for none.
constexpr std::string_view name_of(Drop drop) {
  constexpr std::array<std::string_view, drop_count + 1> names{
      LOCKSTEP_DROPS(LOCKSTEP_NAME) "none"};
  return names[static_cast<std::uint32_t>(drop)];
}

// The reason in words.
constexpr std::string_view text_of(Drop drop) {
  constexpr std::array<std::string_view, drop_count + 1> texts{
      LOCKSTEP_DROPS(LOCKSTEP_TEXT) "the frame was accepted"};
  return texts[static_cast<std::uint32_t>(drop)];
}

// How many frames were dropped for each reason.
class DropCounters {
 public:
  // Counts one frame; Drop::none counts nothing.
  constexpr void count(Drop drop) {
    if (drop != Drop::none) {
      ++counts_[static_cast<std::uint32_t>(drop)];
    }
  }
  constexpr std::uint64_t of(Drop drop) const { return counts_[static_cast<std::uint32_t>(drop)]; }

 private:
  std::array<std::uint64_t, drop_count> counts_{};
};

}  // namespace lockstep
