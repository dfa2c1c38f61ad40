// The mPIPE driver on the model, without a simulator around it.
#include "tools/lib/sim_nic/mpipe_bench.hpp"

#include <algorithm>
#include <utility>

#include "core/units/check.hpp"
#include "hw/mpipe/model/machine.hpp"
#include "hw/mpipe/port.hpp"
#include "tools/lib/sim_nic/link_header.hpp"

namespace lockstep::tools {
namespace {

hw::MpipeShape shape_of(Bytes mtu) {
  hw::MpipeShape shape;
  shape.mtu = mtu;
  shape.receive_ring = {128};
  shape.transmit_buffers = {256};
  shape.bare_ip = true;
  shape.own = near_mac;
  shape.peer = far_mac;
  return shape;
}

class KeptFrames final : public hw::mpipe::Wire {
 public:
  void leave(std::span<const std::byte> frame) override {
    auto const packet = frame.subspan(coat_bytes);
    kept.emplace_back(packet.begin(), packet.end());
  }
  std::uint32_t waiting() override { return 0; }
  Instant first_departure() const override { return Instant::never(); }

  std::vector<std::vector<std::byte>> kept;
};

}  // namespace

class MpipeBench::Parts {
 public:
  explicit Parts(Bytes mtu)
      : machine({static_cast<std::uint32_t>(hw::Mpipe::memory_bytes(shape_of(mtu))),
                 Random(1),
                 {},
                 Mac{}}) {
    machine.be_current();
    machine.attach(wire);
    CHECK(engine.open(shape_of(mtu)).none());
    port = std::make_unique<hw::MpipePort>(engine, hw::MpipePort::Worker{0});
  }
  hw::MpipePort& entered() {
    machine.be_current();
    return *port;
  }

  hw::mpipe::Machine machine;
  KeptFrames wire;
  hw::Mpipe engine;
  std::unique_ptr<hw::MpipePort> port;
  std::vector<std::byte> coated;
};

std::unique_ptr<Bench> MpipeBench::make(Bytes mtu) {
  bool const carried = mtu.count <= hw::MpipeShape::mtu_max;
  return carried ? std::unique_ptr<Bench>(new MpipeBench(mtu)) : nullptr;
}

MpipeBench::MpipeBench(Bytes mtu) : parts_(std::make_unique<Parts>(mtu)) {}

MpipeBench::~MpipeBench() = default;

void MpipeBench::set_now(Instant now) {
  parts_->entered();
  parts_->machine.step({now, now});
}

void MpipeBench::arrive(std::span<const std::byte> packet) {
  parts_->entered();
  put_coat_on(packet, parts_->coated);
  CHECK(parts_->machine.arrive(parts_->coated, parts_->engine.channel()) ==
        hw::mpipe::Arrived::taken);
}

std::vector<std::vector<std::byte>> MpipeBench::take() {
  parts_->entered();
  CHECK(parts_->machine.sins() == 0);
  return std::exchange(parts_->wire.kept, {});
}

std::span<const Ingress> MpipeBench::receive() {
  hw::MpipePort& port = parts_->entered();
  static_cast<void>(port.now());
  return port.receive();
}

std::span<std::byte> MpipeBench::claim() { return parts_->entered().claim(); }
void MpipeBench::commit(const Egress& egress) { parts_->entered().commit(egress); }
void MpipeBench::reclaim() { parts_->entered().reclaim(); }
void MpipeBench::flush() { CHECK(parts_->entered().flush()); }

}  // namespace lockstep::tools
