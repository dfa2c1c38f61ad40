// Devices as hosts of a simulated world: applications, the ledger, determinism, refusals.
#include "conformance/interop/device_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <filesystem>
#include <string>

#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

namespace fs = std::filesystem;
using sim::NodeKind;
using sim::NodeRef;
using sim::Side;
using testing::HasSubstr;

const std::string ours = LOCKSTEP_BINARY_DIR "/devices/lockstep.so";
const std::string lwip_device = LOCKSTEP_BINARY_DIR "/devices/lwip.so";
constexpr NodeRef host{NodeKind::host, 0}, device{NodeKind::station, 0},
    second{NodeKind::station, 1};

struct Scene {
  std::string stack = ours;
  sim::Name model = "bulk";
  bool device_opens = true;
  bool alone = false;  // two devices
  bool ipv6 = false;
};

sim::StationSpec device_named(sim::Name name, const std::string& stack, std::uint8_t last,
                              bool ipv6) {
  sim::StationSpec out;
  out.name = name;
  out.model = device_host_model;
  out.device = std::string_view(stack);
  out.mac.octets = {0x02, 0, 0, 0, 1, last};
  out.address = ipv6 ? IpAddress{0xfd00'0000'0000'0000, last} : IpAddress::v4(10, 0, 0, last);
  return out;
}

/// A device on a lossy link, and our stack or another device at the other end.
sim::World world_of(const Scene& scene) {
  sim::World world;
  world.name = "scene";
  world.stations.push_back(device_named("d", scene.stack, 1, scene.ipv6));
  if (scene.alone) {
    world.stations.push_back(device_named("e", ours, 2, scene.ipv6));
  } else {
    world.hosts.push_back(sim::plain_host("h", 2));
    if (scene.ipv6) {
      world.hosts[0].config.addresses[0] = {IpAddress{0xfd00'0000'0000'0000, 2}, 64};
    }
  }
  sim::give_macs(world);
  NodeRef const peer = scene.alone ? second : host;
  sim::LaneSpec lane;
  lane.rate_bits_per_second = 10'000'000;
  lane.delay = Duration::milliseconds(5);
  world.links = {{"link", device, peer, lane, lane}};
  world.lane_faults = {sim::fault_of_link("loss", sim::Loss{{20'000'000}})};
  sim::StationAppSpec app;
  app.client = scene.device_opens ? device : peer;
  app.server = scene.device_opens ? peer : device;
  app.app.name = "x";
  app.app.model = scene.model;
  app.app.bytes = 40'000;
  app.app.reply_bytes = 5'000;
  app.app.rounds = 3;
  app.app.flows = 2;
  app.app.repeat = 2;
  app.app.read_every = Duration::milliseconds(1);
  app.app.read_bytes = 4'096;
  app.app.think = Duration::milliseconds(50);
  app.app.server_address = app.server == host     ? world.hosts[0].config.addresses[0].address
                           : app.server == device ? world.stations[0].address
                                                  : world.stations[1].address;
  world.station_apps = {app};
  return world;
}

sim::Registry with_devices() {
  sim::Registry out = sim::Registry::standard();
  add_device_hosts(out);
  return out;
}

void expect_whole(const sim::Kernel& kernel, const Scene& scene) {
  ASSERT_EQ(kernel.ledger().flows().size(), 4U);
  for (sim::Flow const& flow : kernel.ledger().flows()) {
    sim::FlowEnd const& opener = flow.end(Side::opener);
    sim::FlowEnd const& acceptor = flow.end(Side::acceptor);
    EXPECT_FALSE(flow.foreign);
    EXPECT_TRUE(opener.intact && acceptor.intact);
    EXPECT_EQ(opener.cause, Cause::finished);
    EXPECT_EQ(acceptor.cause, Cause::finished);
    EXPECT_EQ(opener.station, scene.device_opens || scene.alone);
    EXPECT_EQ(acceptor.station, !scene.device_opens || scene.alone);
    std::uint64_t const asked = scene.model == sim::Name("chatter") ? 120'000 : 40'000;
    std::uint64_t const back = scene.model == sim::Name("chatter")      ? 15'000
                               : scene.model == sim::Name("half_close") ? 5'000
                               : scene.model == sim::Name("echo")       ? 40'000
                                                                        : 0;
    EXPECT_EQ(opener.written, asked);
    EXPECT_EQ(acceptor.read, asked);
    EXPECT_EQ(opener.read, back);
    sim::FlowEnd const& end = opener.station ? opener : acceptor;
    EXPECT_GT(end.last.segments_sent, 5U);
    // The run may end before the last ACK of a server's data arrives.
    EXPECT_GE(end.acknowledged, &end == &opener ? end.written : 0);
    EXPECT_LE(end.acknowledged, end.written + 1);
  }
}

class DeviceHostModels : public testing::TestWithParam<const char*> {};

TEST_P(DeviceHostModels, BothWaysAndBetweenDevicesEveryOctetArrives) {
  for (bool const opens : {true, false}) {
    for (bool const alone : {true, false}) {
      for (bool const ipv6 : {false, true}) {
        Scene const scene{ours, GetParam(), opens, alone, ipv6};
        sim::Kernel kernel(world_of(scene), 3, with_devices());
        EXPECT_EQ(kernel.run(), sim::Ending::completed) << opens << alone << ipv6;
        SCOPED_TRACE(testing::Message()
                     << "opens " << opens << ", alone " << alone << ", ipv6 " << ipv6);
        expect_whole(kernel, scene);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceHostModels,
                         testing::Values("bulk", "chatter", "echo", "half_close", "slow_reader"),
                         [](const auto& each) { return std::string(each.param); });

TEST(DeviceHost, AnotherTcpToo) {
  if (!fs::exists(lwip_device)) {
    GTEST_SKIP() << "lwip is left out";
  }
  for (bool const opens : {true, false}) {
    Scene const scene{lwip_device, "bulk", opens};
    sim::Kernel kernel(world_of(scene), 3, with_devices());
    EXPECT_EQ(kernel.run(), sim::Ending::completed) << opens;
    expect_whole(kernel, scene);
    sim::FlowEnd const& end = kernel.ledger().flows()[0].end(opens ? Side::opener : Side::acceptor);
    EXPECT_GT(end.last.cwnd.count, 0U);
  }
}

TEST(DeviceHost, TheSameSeedIsTheSameRunAndAnotherIsNot) {
  const auto print = [](std::uint64_t seed) {
    sim::Kernel kernel(world_of({.alone = true}), seed, with_devices());
    kernel.run();
    return kernel.fingerprint();
  };
  EXPECT_EQ(print(5), print(5));
  EXPECT_NE(print(5), print(6));
}

TEST(DeviceHost, AConnectionThatFailsIsRecordedAsItEnded) {
  sim::World world = world_of({.model = "bulk", .device_opens = true});
  world.station_apps[0].app.close_mode = sim::CloseMode::abort;
  world.station_apps[0].app.flows = world.station_apps[0].app.repeat = 1;
  world.lane_faults.clear();
  world.station_apps[0].app.bytes = 1'000'000;  // more than is queued at once
  sim::Kernel kernel(world, 1, with_devices());
  EXPECT_EQ(kernel.run(), sim::Ending::completed);
  sim::Flow const& flow = kernel.ledger().flows().at(0);
  EXPECT_EQ(flow.end(Side::opener).cause, Cause::aborted);
  EXPECT_EQ(flow.end(Side::acceptor).cause, Cause::reset);
}

std::string refusal_of(const sim::World& world) {
  sim::Kernel kernel(world, 1, with_devices());
  EXPECT_FALSE(kernel.step());
  return std::string(kernel.fault());
}

TEST(DeviceHost, WhatCannotBeIsRefusedInOneLine) {
  sim::World world = world_of({});
  world.stations[0].settings = std::string_view("profile=rfc\nflux=1\n");
  EXPECT_THAT(refusal_of(world),
              HasSubstr("host 'd': device lockstep: Config has no field 'flux'"));
  world.stations[0].device = std::string_view("none_such");
  EXPECT_THAT(refusal_of(world), HasSubstr("none_such"));
}

TEST(DeviceHost, ADeviceWithoutACallThatItsProgramsNeedIsNamed) {
  sim::World const world = world_of({LOCKSTEP_BINARY_DIR "/rude/rude.so", "bulk", false});
  EXPECT_EQ(refusal_of(world),
            "host 'd': device rude has no call abort, which its applications need");
}

TEST(DeviceHost, ADeviceThatFailsEndsTheRun) {
  sim::World world = world_of({LOCKSTEP_BINARY_DIR "/rude/rude.so", "bulk", false});
  world.station_apps.clear();
  sim::Kernel kernel(world, 1, with_devices());
  ASSERT_EQ(kernel.fault(), "");
  while (kernel.step()) {
  }
  EXPECT_EQ(kernel.run(), sim::Ending::failed);
  EXPECT_EQ(
      kernel.fault(),
      "device rude: advance: it has ended with exit code 1: deadline() is still over after 1000 "
      "calls of advance()");
}

}  // namespace
}  // namespace lockstep::conformance
