// Sends known frames one at a time, polls every ring for each, and analyses their hashes.
#include "hw/mpipe/calibration.hpp"

#include <array>

#include "core/units/shard.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/tcp.hpp"
#include "hw/mpipe/port.hpp"

namespace lockstep::hw {
namespace {

using Calibration = MpipeCalibration;

// How often all rings are polled for a frame, which takes microseconds.
constexpr std::uint32_t looks_max = 16'384;
constexpr std::uint32_t tcp_number = 6;

enum class Family : std::uint8_t { four, six };
constexpr std::uint32_t families = 2;

FourTuple flow_of(Family family, std::uint32_t local, std::uint32_t remote) {
  // Documentation addresses (RFC 5737, RFC 3849), because these frames never leave the machine.
  IpAddress near = IpAddress::v4(192, 0, 2, 1);
  IpAddress far = IpAddress::v4(198, 51, 100, static_cast<std::uint8_t>(7 + remote));
  if (family == Family::six) {
    near = IpAddress{0x2001'0db8'0000'0000, 1};
    far = IpAddress{0x2001'0db8'0000'0001, 7 + std::uint64_t{remote}};
  }
  return {{near, Port{static_cast<std::uint16_t>(32'768 + 613 * local)}},
          {far, Port{static_cast<std::uint16_t>(80 + 1'021 * remote)}}};
}

// Writes a received segment without payload; returns its length.
std::uint32_t write_frame(const FourTuple& flow, std::span<std::byte> into) {
  bool const six = !flow.local.address.is_v4();
  wire::EthernetHeader ethernet;
  ethernet.destination.octets = {0x02, 0, 0, 0, 0, 1};
  ethernet.source.octets = {0x02, 0, 0, 0, 0, 2};
  ethernet.type = six ? wire::EtherType::ipv6 : wire::EtherType::ipv4;
  Bytes at = wire::write(ethernet, into);
  constexpr Bytes length{wire::tcp_header_bytes};
  if (six) {
    at = at + wire::write(wire::Ipv6Header{flow.remote.address, flow.local.address, tcp_number, 64},
                          length, into.subspan(at.count));
  } else {
    wire::Ipv4Header header;
    header.source = flow.remote.address;
    header.destination = flow.local.address;
    header.protocol = wire::IpProtocol::tcp;
    header.time_to_live = 64;
    at = at + wire::write(header, length, into.subspan(at.count));
  }
  wire::Header tcp;
  tcp.source = flow.remote.port;
  tcp.destination = flow.local.port;
  tcp.flags = wire::flag::ack;
  wire::write_whole(tcp, Bytes{0}, {flow.remote.address, flow.local.address, tcp_number, length},
                    {}, into.subspan(at.count));
  return at.count + length.count;
}

// 16-bit one's complement addition, with a single zero.
std::uint32_t plus(std::uint32_t a, std::uint32_t b) {
  std::uint32_t const sum = (a & 0xffff) + (b & 0xffff);
  return ((sum & 0xffff) + (sum >> 16)) % 0xffff;
}

class Measurement {
 public:
  Measurement(Mpipe& engine, Calibration& out) : engine_(engine), out_(out), port_(engine, {0}) {}

  void run() {
    for (std::uint32_t family = 0; family < families; ++family) {
      for (std::uint32_t local = 0; local < Calibration::local_ends; ++local) {
        for (std::uint32_t remote = 0; remote < Calibration::remote_ends; ++remote) {
          measure({static_cast<Family>(family), local, remote});
        }
      }
      judge_sums(family);
    }
    for (bool const each : reached_) {
      out_.workers += each ? 1 : 0;
    }
  }

 private:
  struct Place {
    Family family;
    std::uint32_t local;
    std::uint32_t remote;
  };
  struct Hash {
    bool known = false;
    std::uint32_t value = 0;
  };

  void measure(const Place& place) {
    FourTuple const flow = flow_of(place.family, place.local, place.remote);
    Hash const there = hash_of(flow);
    Hash const back = hash_of({flow.remote, flow.local});
    out_.symmetric += there.known && back.known && there.value == back.value ? 1 : 0;
    hashes_[static_cast<std::uint32_t>(place.family)][place.local][place.remote] = there;
  }

  Hash hash_of(const FourTuple& flow) {
    ++out_.sent;
    if (!send(flow)) {
      return {};
    }
    for (std::uint32_t look = 0; look < looks_max; ++look) {
      for (std::uint32_t worker = 0; worker < engine_.shape().workers.value; ++worker) {
        gxio_mpipe_iqueue_t& queue = engine_.iqueue(worker);
        gxio_mpipe_idesc_t* first = nullptr;
        if (gxio_mpipe_iqueue_try_peek(&queue, &first) > 0) {
          return take(flow, queue, *first, worker);
        }
      }
    }
    return {};
  }

  bool send(const FourTuple& flow) {
    auto room = port_.claim();
    for (std::uint32_t look = 0; look < looks_max && room.empty(); ++look) {
      room = port_.claim();
    }
    if (room.empty()) {
      return false;
    }
    Egress egress;
    egress.length = static_cast<std::uint16_t>(write_frame(flow, room));
    port_.commit(egress);
    return port_.flush();
  }

  Hash take(const FourTuple& flow, gxio_mpipe_iqueue_t& queue, gxio_mpipe_idesc_t idesc,
            std::uint32_t worker) {
    // Ignores damaged frames, and late ones of an earlier flow.
    bool const whole = gxio_mpipe_idesc_has_error(&idesc) == 0;
    Hash const hash{whole, gxio_mpipe_idesc_get_flow_hash(&idesc)};
    gxio_mpipe_iqueue_advance(&queue, 1);
    if (idesc.c == MPIPE_EDMA_DESC_WORD1__C_VAL_UNCHAINED) {
      gxio_mpipe_push_buffer(&engine_.context(), static_cast<unsigned>(idesc.stack_idx),
                             mpipe::next_of_chain(idesc.words[7]));
    }
    gxio_mpipe_credit(&engine_.context(), queue.ring, -1, 1);
    if (whole) {
      ShardCount const workers{engine_.shape().workers.value};
      ++out_.returned;
      out_.at_home += shard_of(flow, workers) == ShardId{worker} ? 1 : 0;
      out_.as_told += engine_.ring_of_bucket(hash.value) == worker ? 1 : 0;
      reached_[worker] = true;
    }
    return hash;
  }

  // If hashes are sums, two flows have the same four hashes as the two with their remote ends
  // exchanged.
  void judge_sums(std::uint32_t family) {
    auto const& seen = hashes_[family];
    for (std::uint32_t local = 1; local < Calibration::local_ends; ++local) {
      for (std::uint32_t remote = 1; remote < Calibration::remote_ends; ++remote) {
        bool const known = seen[0][0].known && seen[local][remote].known && seen[0][remote].known &&
                           seen[local][0].known;
        out_.additive += known && plus(seen[0][0].value, seen[local][remote].value) ==
                                      plus(seen[0][remote].value, seen[local][0].value)
                             ? 1
                             : 0;
      }
    }
  }

  Mpipe& engine_;
  Calibration& out_;
  MpipePort port_;
  std::array<bool, MpipeShape::workers_max> reached_{};
  std::array<std::array<std::array<Hash, Calibration::remote_ends>, Calibration::local_ends>,
             families>
      hashes_{};
};

}  // namespace

MpipeSteering steering_for(const MpipeCalibration& seen, SiblingQueues queues) {
  if (seen.complete() && seen.at_home == seen.returned) {
    return MpipeSteering::direct;
  }
  return queues == SiblingQueues::some ? MpipeSteering::siblings : MpipeSteering::first_worker;
}

MpipeTrouble calibrate(const MpipeShape& shape, const char* loop, MpipeCalibration& out) {
  out = {};
  MpipeShape small = shape;
  small.links = {loop};
  small.mtu = Bytes{1'500};
  small.receive_ring = Count{128};
  small.transmit_buffers = Count{2 * MpipeCalibration::flows};
  small.bare_ip = false;
  small.first_only = false;
  Mpipe engine;
  MpipeTrouble const trouble = engine.open(small);
  if (!trouble.none()) {
    return trouble;
  }
  Measurement(engine, out).run();
  return {};
}

}  // namespace lockstep::hw
