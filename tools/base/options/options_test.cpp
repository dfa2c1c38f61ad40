// Options of a verb from a file, and printed as one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tools/base/options/config_file.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Given {
  std::string tap;
  std::vector<std::string> addresses;
  std::vector<std::string> urls;
  std::uint32_t port = 80;
  bool force = false;
  std::string spin = "50us";
};

/// A program with the verb `serve http`.
class Program {
 public:
  explicit Program(Given& given) : app("x", "lockstep") {
    verb = app.add_subcommand("serve", "")->add_subcommand("http", "");
    verb->add_option_group("where", "")->add_option("--tap", given.tap, "an interface");
    verb->add_option("URL,--url", given.urls, "targets");
    verb->add_option("--address", given.addresses, "ours")->required()->allow_extra_args(false);
    verb->add_option("--port", given.port, "to listen on")
        ->check(CLI::Range(1, 65'535))
        ->capture_default_str();
    verb->add_flag("--force", given.force, "overwrite");
    verb->add_option("--spin", given.spin, "polling")->capture_default_str();
    add_config_options(*verb, [this] { has_run = true; });
  }
  void parse(std::vector<const char*> words) {
    words.insert(words.begin(), "lockstep");
    configured.emplace(app, words);
    auto const& all = configured->words();
    app.parse(static_cast<int>(all.size()), all.data());
  }

  CLI::App app;
  CLI::App* verb = nullptr;
  std::optional<ConfiguredWords> configured;
  bool has_run = false;
};

class Config : public testing::Test {
 protected:
  ~Config() override { std::filesystem::remove(path); }
  const char* file(const std::string& text) {
    std::ofstream(path) << text;
    return path.c_str();
  }
  std::string refusal_of(const std::string& text) {
    try {
      Given given;
      Program(given).parse({"serve", "http", "--config", file(text)});
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      return failure.what();
    }
    return "accepted";
  }

  std::string path = (std::filesystem::temp_directory_path() /
                      ("lockstep-options-" + std::to_string(getpid()) + ".toml"))
                         .string();
};

TEST_F(Config, AFileGivesOptions) {
  Given given;
  Program program(given);
  program.parse({"serve", "http", "--config",
                 file("tap = 'lock0'\naddress = ['10.0.0.1/24', '--x']\nport = 8080\n"
                      "force = true\n")});
  EXPECT_TRUE(program.has_run);
  EXPECT_EQ(given.tap, "lock0");
  EXPECT_THAT(given.addresses, ElementsAre("10.0.0.1/24", "--x"));
  EXPECT_EQ(given.port, 8080u);
  EXPECT_TRUE(given.force);
}

TEST_F(Config, TheCommandLineComesFirst) {
  Given given;
  Program(given).parse({"serve", "http", "--port=81", "--address", "b", "--config",
                        file("address = ['a', 'c']\nport = 80\nforce = false\ntap = 'x'\n")});
  EXPECT_THAT(given.addresses, ElementsAre("b"));
  EXPECT_EQ(given.port, 81u);
  EXPECT_FALSE(given.force);
  EXPECT_EQ(given.tap, "x");
}

TEST_F(Config, AnArgumentWithoutNameComesFirstToo) {
  const char* const config = file("url = ['a', 'b']\naddress = 'x'\n");
  Given alone;
  Program(alone).parse({"serve", "http", "--config", config});
  EXPECT_THAT(alone.urls, ElementsAre("a", "b"));
  Given before;
  Program(before).parse({"serve", "http", "c", "--config", config});
  EXPECT_THAT(before.urls, ElementsAre("c"));
  Given after;
  Program(after).parse({"serve", "http", "--port", "81", "--config", config, "--force", "d", "e"});
  EXPECT_THAT(after.urls, ElementsAre("d", "e"));
  Given named;
  Program(named).parse({"serve", "http", "--url", "f", "g", "--config", config});
  EXPECT_THAT(named.urls, ElementsAre("f", "g"));
}

TEST_F(Config, AFlagMayBeFalse) {
  Given given;
  Program program(given);
  program.parse({"serve", "http", "--address", "a", "--force=false"});
  std::string const text = config_text(*program.verb);
  EXPECT_THAT(text, HasSubstr("\nforce = false\n"));
  Given again;
  Program second(again);
  second.parse({"serve", "http", "--config", file(text)});
  EXPECT_EQ(config_text(*second.verb), text);
  EXPECT_FALSE(again.force);
}

TEST_F(Config, WhatIsPrintedGivesTheSame) {
  Given given;
  Program program(given);
  program.parse({"serve", "http", "--address", "a\"\\\n\x7f", "--address", "b", "--port", "81",
                 "--force", "--tap", "007"});
  std::string const text = config_text(*program.verb);
  EXPECT_THAT(text, HasSubstr("\nport = 81\n"));
  EXPECT_THAT(text, HasSubstr("\n# spin = \"50us\"\n"));
  Given again;
  Program second(again);
  second.parse({"serve", "http", "--config", file(text)});
  EXPECT_EQ(config_text(*second.verb), text);
  EXPECT_EQ(again.addresses, given.addresses);
  EXPECT_EQ(again.tap, "007");
}

TEST_F(Config, MistakesNameTheirLine) {
  EXPECT_EQ(refusal_of("tap = 'x'\nprot = 80\n"),
            path + ":2: lockstep serve http has no option 'prot' (did you mean 'port'?)");
  EXPECT_THAT(refusal_of("\n\nport = 1.5\n"), HasSubstr(":3: port: expected a string"));
  EXPECT_THAT(refusal_of("force = 1"), HasSubstr(":1: force: expected true or false"));
  EXPECT_THAT(refusal_of("port = [1, 2]"), HasSubstr(":1: port: it takes one value"));
  EXPECT_THAT(refusal_of("tap = ''"), HasSubstr(":1: tap: it is empty"));
  EXPECT_THAT(refusal_of("[tap]\nx = 1"), HasSubstr("tap: expected a string"));
  EXPECT_THAT(refusal_of("config = 'x'"), HasSubstr("has no option 'config'"));
  EXPECT_THAT(refusal_of("tap = 'x\n"), HasSubstr(path + ":1:"));
}

TEST_F(Config, AValueOutOfRangeNamesItsLine) {
  Given given;
  Program program(given);
  try {
    program.parse({"serve", "http", "--config", file("address = 'a'\nport = 70000\n")});
    FAIL();
  } catch (const CLI::ValidationError& error) {
    EXPECT_EQ(program.configured->place_of(error.what()), path + ":2: ");
    EXPECT_EQ(program.configured->place_of("--address x: wrong"), path + ":1: ");
    EXPECT_EQ(program.configured->place_of("--spin: wrong"), "");
  }
}

}  // namespace
}  // namespace lockstep::tools
