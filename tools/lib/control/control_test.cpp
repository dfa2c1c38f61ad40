// The control socket: lists, and clients that stall, send nonsense, or never end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/stack/testing/syn_cache_kit.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/process/wait_kit.hpp"
#include "tools/lib/control/client.hpp"
#include "tools/lib/control/socket.hpp"

namespace lockstep::control {
namespace {

using testing::Kit;

/// A socket, and a shard with `half_open` connections that gives what is wanted until the end.
class Control : public ::testing::Test {
 protected:
  Control() {
    path = (std::filesystem::temp_directory_path() /
            ("lockstep-control-" + std::to_string(getpid()) + ".sock"))
               .string();
    EXPECT_FALSE(listing.open({1}));
    testing::listen(kit, 300);
    testing::flood(kit, 0, 200);
    socket = std::make_unique<Socket>(path, Identity{"serve http", "lock0", {1}}, listing);
  }
  ~Control() override {
    socket.reset();
    std::uint64_t const one = 1;
    EXPECT_EQ(write(over, &one, sizeof one), ssize_t{sizeof one});
    if (shard.joinable()) {
      shard.join();
    }
    close(over);
  }

  void start() {
    socket->start();
    start_shard();
  }

  void start_shard() {
    shard = std::thread([this] {
      for (;;) {
        std::array<pollfd, 2> watched{{{over, POLLIN, 0}, {listing.descriptor({0}), POLLIN, 0}}};
        poll(watched.data(), watched.size(), -1);
        if (watched[0].revents != 0) {
          return;
        }
        if (listing.is_wanted({0})) {
          listing.give({0}, kit.stack);
        }
      }
    });
  }

  /// A client by hand, for what the real one does not do.
  hw::Descriptor client(std::string_view text) const {
    hw::Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    say(made, text);
    return made;
  }
  void say(const hw::Descriptor& made, std::string_view text) const {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), name.sun_path);
    EXPECT_EQ(connect(made.number(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(send(made.number(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  static std::string all_of(const hw::Descriptor& from) {
    std::string out;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = recv(from.number(), buffer.data(), buffer.size(), 0)) > 0;) {
      out.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return out;
  }

  std::string path;
  Kit kit{testing::cache_config(512)};
  Listing listing;
  std::unique_ptr<Socket> socket;
  std::thread shard;
  int over = eventfd(0, EFD_CLOEXEC);
};

TEST_F(Control, ListsEveryRecordOfAllPortions) {
  start();
  Answer const answer = list_of(path);
  EXPECT_EQ(tools::parse_json(answer.head).at("role"), "serve http");
  std::set<std::string> remotes;
  for (const std::string& line : answer.lines) {
    auto const row = tools::parse_json(line);
    if (row.at("state") == "SYN-RECEIVED") {
      remotes.insert(row.at("remote").get<std::string>());
      EXPECT_EQ(row.at("timer").at("name"), "on");
    }
  }
  EXPECT_EQ(remotes.size(), 200u);
  EXPECT_EQ(answer.lines.size(), 201u);
}

TEST_F(Control, OnlyItsOwnerMayOpenIt) {
  struct stat there{};
  ASSERT_EQ(stat(path.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777u, 0600u);
}

TEST_F(Control, ClientsThatStallKeepNobodyOut) {
  start();
  std::vector<hw::Descriptor> silent;
  for (std::size_t i = 0; i < 3 * Socket::clients_max; ++i) {
    silent.push_back(client(i % 2 == 0 ? "" : "li"));
  }
  std::vector<hw::Descriptor> readers;  // which never read
  for (std::size_t i = 0; i + 2 < Socket::clients_max; ++i) {
    readers.push_back(client(list_request));
  }
  EXPECT_EQ(list_of(path).lines.size(), 201u);
}

TEST_F(Control, NonsenseIsAnsweredAndCutOff) {
  start();
  EXPECT_NE(all_of(client("GET / HTTP/1.1\r\n\r\n")).find("error"), std::string::npos);
  EXPECT_NE(all_of(client("list now\n")).find("error"), std::string::npos);
  EXPECT_NE(all_of(client(std::string(Socket::request_max + 1, 'x'))).find("error"),
            std::string::npos);
  EXPECT_EQ(list_of(path).lines.size(), 201u);
}

TEST_F(Control, AClientMayLeaveWhileItIsServed) {
  start();
  for (int i = 0; i < 20; ++i) {
    client(list_request);
  }
  EXPECT_EQ(list_of(path).lines.size(), 201u);
}

/// The system call in which a thread of this process waits, if it waits.
class CallOf {
 public:
  explicit CallOf(pid_t thread)
      : file_(open(("/proc/self/task/" + std::to_string(thread) + "/syscall").c_str(),
                   O_RDONLY | O_CLOEXEC)) {}

  /// -1: it runs.
  long number() const {
    std::array<char, 64> text{};
    ssize_t const size = pread(file_.number(), text.data(), text.size(), 0);
    long out = -1;
    std::from_chars(text.data(), text.data() + std::max<ssize_t>(size, 0), out);  // or "running"
    return out;
  }

 private:
  hw::Descriptor file_;
};

std::set<pid_t> threads_of_this_process() {
  std::set<pid_t> out;
  for (auto const& each : std::filesystem::directory_iterator("/proc/self/task")) {
    out.insert(std::stoi(each.path().filename().string()));
  }
  return out;
}

// A shard that is awake sees the question at once. Had it answered before the event was signalled,
// the event would stay readable, and the shard would never sleep again. Here the signal waits,
// because the event's counter is full.
TEST_F(Control, TheEventIsSignalledBeforeTheQuestion) {
  int const event = listing.descriptor({0});
  std::uint64_t const full = ~std::uint64_t{1};
  ASSERT_EQ(write(event, &full, sizeof full), ssize_t{sizeof full});
  ASSERT_EQ(fcntl(event, F_SETFL, 0), 0);  // so that a full counter blocks
  std::atomic<pid_t> asks{0};
  std::thread asker([&] {
    asks = gettid();
    listing.ask({0}, 0);
  });
  EXPECT_TRUE(tools::happens([&] { return asks != 0; }));
  CallOf const call(asks);
  EXPECT_TRUE(tools::happens([&] { return call.number() == SYS_write; }));
  EXPECT_FALSE(listing.is_wanted({0}));
  std::uint64_t taken = 0;
  EXPECT_EQ(read(event, &taken, sizeof taken), ssize_t{sizeof taken});
  asker.join();
  EXPECT_TRUE(listing.is_wanted({0}));
  listing.give({0}, kit.stack);
  ASSERT_EQ(fcntl(event, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(read(event, &taken, sizeof taken), -1);  // an answer leaves no event behind
}

TEST_F(Control, AListThatIsCutOffIsKnown) {
  socket->start();  // and no shard that answers
  std::thread ends([this] {
    pollfd wanted{listing.descriptor({0}), POLLIN, 0};
    poll(&wanted, 1, -1);
    socket.reset();
  });
  EXPECT_THROW(list_of(path), tools::Failure);
  ends.join();
}

TEST_F(Control, ASocketInUseOrAFileIsNotReplaced) {
  EXPECT_THROW(Socket(path, Identity{}, listing), tools::Failure);
  std::string const file = path + ".file";
  std::ofstream(file) << "mine";
  EXPECT_THROW(Socket(file, Identity{}, listing), tools::Failure);
  EXPECT_EQ(std::filesystem::file_size(file), 4u);
  std::filesystem::remove(file);
  EXPECT_THROW(Socket(std::string(200, 'x'), Identity{}, listing), tools::Failure);
}

TEST_F(Control, ASocketOfAnotherKindIsNotReplaced) {
  std::string const other = path + ".other";
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::copy(other.begin(), other.end(), name.sun_path);
  hw::Descriptor const used(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(used.number(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  EXPECT_THROW(Socket(other, Identity{}, listing), tools::Failure);
  EXPECT_TRUE(std::filesystem::exists(other));
  std::filesystem::remove(other);
}

TEST_F(Control, WithoutDescriptorsItPauses) {
  std::set<pid_t> const others = threads_of_this_process();
  socket->start();
  std::set<pid_t> threads = threads_of_this_process();
  std::erase_if(threads, [&](pid_t each) { return others.contains(each); });
  ASSERT_EQ(threads.size(), 1u);
  CallOf const call(*threads.begin());
  hw::Descriptor const waits(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  {
    hw::Descriptor const next_free(dup(over));
    rlimit const none{static_cast<rlim_t>(next_free.number()), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  say(waits, list_request);
  // From now on the listener is readable: the thread waits only if it pauses.
  EXPECT_TRUE(tools::happens([&] { return socket->refused() != 0 && call.number() == SYS_poll; }));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  start_shard();
  EXPECT_NE(all_of(waits).find("\"end\""), std::string::npos);
}

TEST_F(Control, ASocketThatWasLeftIsReplaced) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::string const left = path + ".left";
  std::copy(left.begin(), left.end(), name.sun_path);
  {
    hw::Descriptor const dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(dead.number(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(left));
  {
    Socket const replaced(left, Identity{}, listing);
  }
  EXPECT_FALSE(std::filesystem::exists(left));
}

}  // namespace
}  // namespace lockstep::control
