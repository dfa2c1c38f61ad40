// The runner: runs nasty worlds for a range of seeds, one output line each, without the C++
// library.
//
// lockstep-runner FIRST LAST prints for each seed how the run ended, its fingerprint, and the hash
// and length of its capture. Two builds that print the same lines simulate identically.
// lockstep-runner captures FIRST LAST writes the captures themselves, concatenated.
// lockstep-runner mpipe [captures] FIRST LAST uses the mPIPE driver, on the model of its hardware,
// in each host that supports it, and prints the number of those hosts.
// lockstep-runner mpipe4 [captures] FIRST LAST makes each host that can have shards four workers of
// its NIC.
// lockstep-runner speed prints the number of frames of a bulk transfer per CPU second.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/units/hash.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/kernel/text.hpp"
#include "sim/kernel/trace.hpp"
#include "sim/runner/nics.hpp"
#include "sim/worlds/build.hpp"
#include "sim/worlds/lab.hpp"
#include "sim/worlds/nasty.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::sim;

// FNV-1a over every byte: the result does not depend on how the bytes are split into writes.
class HashSink final : public ByteSink {
 public:
  void put(std::span<const std::byte> bytes) override {
    for (std::byte each : bytes) {
      hash_ = (hash_ ^ std::to_integer<std::uint64_t>(each)) * 0x100'0000'01b3;
    }
    length_ += bytes.size();
  }
  std::uint64_t hash() const { return hash_; }
  std::uint64_t length() const { return length_; }

 private:
  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325;
  std::uint64_t length_ = 0;
};

class OutputSink final : public ByteSink {
 public:
  void put(std::span<const std::byte> bytes) override {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  }
};

void print(const Line& line) {
  std::fwrite(line.view().data(), 1, line.view().size(), stdout);
  std::fputc('\n', stdout);
}

void failed(const CheckSite& site) {
  RunNote const run = current_run();
  Line line;
  line.add("runner: CHECK(").add(site.condition).add(") failed at ").add(site.file).add(":");
  line.add(static_cast<std::uint64_t>(site.line)).add(", seed ").add(run.seed);
  line.add(", instant ").add(run.at.ns).add(" ns, host ").add(run.host.view());
  std::fwrite(line.view().data(), 1, line.view().size(), stderr);
  std::fputc('\n', stderr);
}

// lab: the plain port, in a world of lab.hpp.
enum class HostPort : std::uint8_t { plain, mpipe, mpipe_of_four, lab };

struct Setting {
  World world;
  std::uint32_t nics = 0;
  std::uint32_t spread = 0;  // of these, with four workers
};

Setting setting_of(std::uint64_t seed, HostPort port) {
  Setting setting{port == HostPort::lab ? lab_world(seed) : nasty_world(seed)};
  if (port == HostPort::mpipe || port == HostPort::mpipe_of_four) {
    setting.nics = give_nics(setting.world, seed);
  }
  if (port == HostPort::mpipe_of_four) {
    constexpr ShardCount workers{4};
    setting.spread = spread_over_workers(setting.world, workers);
  }
  return setting;
}

void run(std::uint64_t seed, HostPort port) {
  auto const [world, nics, spread] = setting_of(seed, port);
  HashSink sink;
  Kernel kernel(world, seed, registry_with_nics());
  Trace trace(world, sink);
  kernel.observe(trace);
  Ending const ending = kernel.run();
  bool intact = true;
  for (const Flow& flow : kernel.ledger().flows()) {
    intact = intact && flow.ends[0].intact && flow.ends[1].intact;
  }
  Line line;
  line.add(seed).add(" ").add(name_of(ending)).add(intact ? " intact" : " BROKEN");
  line.add(" fingerprint ").add_hex(kernel.fingerprint());
  line.add(" capture ").add_hex(sink.hash()).add(" ").add(sink.length());
  line.add(" frames ").add(kernel.frames_sent()).add(" ended ").add(kernel.now().ns);
  if (port == HostPort::mpipe || port == HostPort::mpipe_of_four) {
    line.add(" nics ").add(nics);
  }
  if (port == HostPort::mpipe_of_four) {
    line.add(" spread ").add(spread);
  }
  print(line);
}

void capture(std::uint64_t seed, HostPort port) {
  World const world = setting_of(seed, port).world;
  OutputSink sink;
  Kernel kernel(world, seed, registry_with_nics());
  Trace trace(world, sink);
  kernel.observe(trace);
  static_cast<void>(kernel.run());
}

void measure() {
  LaneSpec lane;
  lane.rate_bits_per_second = 10'000'000'000;
  lane.delay = Duration::microseconds(20);
  World world = two_hosts(lane);
  world.invariants_every = 0;  // measures the simulator without the checks
  world.apps = {app_of("bulk", 2'000'000'000)};
  Kernel kernel(world, 1);
  std::clock_t const before = std::clock();
  Ending const ending = kernel.run();
  auto const ticks = static_cast<std::uint64_t>(std::clock() - before);
  Line line;
  line.add(name_of(ending)).add(" ").add(kernel.frames_sent()).add(" frames, ");
  line.add(kernel.frames_sent() * CLOCKS_PER_SEC / (ticks == 0 ? 1 : ticks));
  line.add(" frames per CPU second");
  print(line);
}

bool number(const char* text, std::uint64_t& out) {
  if (text[0] < '0' || text[0] > '9') {
    return false;
  }
  char* end = nullptr;
  out = std::strtoull(text, &end, 10);
  return *end == '\0';
}

}  // namespace

int main(int count, char** arguments) {
  set_check_handler(failed);
  if (count == 2 && std::strcmp(arguments[1], "speed") == 0) {
    measure();
    return 0;
  }
  int from = 1;
  auto const has_word = [&](const char* word) {
    bool const found = from < count && std::strcmp(arguments[from], word) == 0;
    from += found ? 1 : 0;
    return found;
  };
  HostPort const port = has_word("mpipe")    ? HostPort::mpipe
                        : has_word("mpipe4") ? HostPort::mpipe_of_four
                        : has_word("lab")    ? HostPort::lab
                                             : HostPort::plain;
  bool const captures = has_word("captures");
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (count != from + 2 || !number(arguments[from], first) || !number(arguments[from + 1], last) ||
      first > last) {
    std::fputs(
        "usage: lockstep-runner [mpipe|mpipe4|lab] [captures] FIRST LAST | "
        "lockstep-runner speed\n",
        stderr);
    return 2;
  }
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    captures ? capture(seed, port) : run(seed, port);
  }
  // Fails if the output could not be written.
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? 0 : 1;
}
