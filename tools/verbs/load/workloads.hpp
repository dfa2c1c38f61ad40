// The workloads by their names: one table of plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/bytes.hpp"
#include "core/units/time.hpp"
#include "tools/lib/load/plan.hpp"

namespace lockstep::tools {

/// What is asked for: what the URL says, messages of an echo, /bytes/N of the sizes of pages or of
/// a file set, or keys.
enum class Asking : std::uint8_t { the_url, messages, pages, files, keys };

struct Workload {
  std::string_view id;
  std::string_view what;  ///< for --help
  load::Protocol protocol = load::Protocol::http;
  Asking asking = Asking::the_url;
  std::uint32_t connections = 1;
  std::uint32_t requests_a_connection = 0;
  std::uint64_t rate = 0;
  std::uint64_t connects_a_second = 0;
  std::uint32_t silent_percent = 0;
  load::Pause slow{};
  Duration think{};
  load::CloseMode close_mode = load::CloseMode::server;
  Bytes message{64};
  std::uint32_t updates_percent = 0;
};

/// Of memcached: all of them are set before anything is measured.
inline constexpr std::uint32_t keys = 10'000;

inline constexpr std::array<Workload, 6> workloads{{
    {.id = "pages",
     .what = "500 front pages, one per connection, 1000 at a time (Rusty, 2015)",
     .asking = Asking::pages,
     .connections = 1000,
     .requests_a_connection = 1},
    {.id = "pages-mtu",
     .what = "the same, meant for --mtu 128, 256, 512, 1500, 3000, 6000 and 9000",
     .asking = Asking::pages,
     .connections = 1000,
     .requests_a_connection = 1},
    {.id = "pingpong64",
     .what = "connect, 64 octets each way, close (mTCP, NSDI 2014)",
     .protocol = load::Protocol::echo,
     .asking = Asking::messages,
     .connections = 64,
     .requests_a_connection = 1,
     .close_mode = load::CloseMode::client},
    {.id = "zipf-files",
     .what = "sizes of a file set, open loop, one per connection, 10,000/s or as --rate says "
             "(Cforall thesis)",
     .asking = Asking::files,
     .connections = 20'000,
     .requests_a_connection = 1,
     .rate = 10'000},
    {.id = "memcached",
     .what = "keys read on 15,360 long-lived connections, open loop, 3 % updates, 100,000/s or "
             "as --rate says (Cforall thesis)",
     .protocol = load::Protocol::memcached,
     .asking = Asking::keys,
     .connections = 15'360,
     .rate = 100'000,
     .close_mode = load::CloseMode::client,
     .updates_percent = 3},
    {.id = "chat",
     .what = "long-lived clients, 50 new per second: 20 % idle, 60 % send a message every minute, "
             "20 % every second (Erlang study)",
     .protocol = load::Protocol::echo,
     .asking = Asking::messages,
     .connections = 1000,
     .connects_a_second = 50,
     .silent_percent = 20,
     .slow = {60, Duration::seconds(60)},
     .think = Duration::seconds(1),
     .close_mode = load::CloseMode::client,
     .message = Bytes{256}},
}};

/// A size and how often it is drawn of all their sum.
struct FileClass {
  std::uint32_t octets = 0;
  std::uint32_t weight = 0;
};

/// The 36 sizes of a folder of SPECweb's kind, of which zipf-files has 600: four classes of nine
/// files, asked for 350, 500, 140 and 10 times in 1000, and within a class 39, 59, 88, 177, 353,
/// 118, 71, 50 and 45 times. 53 % of requests are for 4 KiB at most, 95 % for 51,200 octets; the
/// largest has 921,600. Which of the folders it is (Zipf) makes no difference where bodies are made
/// by size.
constexpr std::array<FileClass, 36> file_classes() {
  constexpr std::array<std::uint32_t, 4> of_class{350, 500, 140, 10};
  constexpr std::array<std::uint32_t, 9> of_file{39, 59, 88, 177, 353, 118, 71, 50, 45};
  std::array<FileClass, 36> out{};
  std::uint32_t tenths = 1'024;  // of the first file's octets
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    tenths *= i != 0 && i % 9 == 0 ? 10 : 1;
    out[i] = {tenths * (i % 9 + 1) / 10, of_class[i / 9] * of_file[i % 9]};
  }
  return out;
}

/// nullptr: there is none of that name.
constexpr const Workload* workload_named(std::string_view id) {
  for (const Workload& each : workloads) {
    if (each.id == id) {
      return &each;
    }
  }
  return nullptr;
}

}  // namespace lockstep::tools
