// The keys of the file are the names of options, so the file becomes words of the command line.
#include "tools/base/options/config_file.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "tools/base/output/toml.hpp"
#include "tools/base/output/utf8.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/suggestion.hpp"
#include "tools/base/text/toml_table.hpp"

namespace lockstep::tools {
namespace {

/// The options that a file may set, by name. CLI11 keeps those of a group in an App without a name.
std::vector<std::pair<std::string, const CLI::Option*>> options_in(const CLI::App& verb) {
  std::vector<std::pair<std::string, const CLI::Option*>> out;
  std::set<std::string> seen{"help", "config", "print-config"};
  auto const add = [&](const CLI::App& from) {
    for (const CLI::Option* const each : from.get_options()) {
      std::string const name = each->get_lnames().empty() ? "" : each->get_lnames().front();
      if (!name.empty() && seen.insert(name).second) {
        out.emplace_back(name, each);
      }
    }
  };
  add(verb);
  for (const CLI::App* const group :
       verb.get_subcommands([](const CLI::App* each) { return each->get_name().empty(); })) {
    add(*group);
  }
  return out;
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }
bool takes_several(const CLI::Option& option) { return option.get_items_expected_max() > 1; }
bool is_number(const CLI::Option& option) {
  std::string const type = option.get_type_name();
  return type.starts_with("UINT") || type.starts_with("INT");
}

std::string quoted(const std::string& text) {
  if (utf8_only(text) != text) {
    throw Failure(ExitCode::bad_input,
                  "--print-config: a value is not UTF-8, which TOML cannot hold: change it");
  }
  std::string out = "\"";
  for (char const letter : text) {
    auto const octet = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
    }
    out += octet < 0x20 || octet == 0x7f ? fmt::format("\\u{:04x}", octet) : std::string(1, letter);
  }
  return out + "\"";
}

std::string value_text(const CLI::Option& option, const std::string& value) {
  bool const digits =
      !value.empty() &&
      std::all_of(value.begin(), value.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
  bool const plain = digits && is_number(option) && (value.size() == 1 || value.front() != '0') &&
                     value.size() <= 18;
  return plain ? value : quoted(value);
}

/// The description on lines of a comment.
std::string comment(const std::string& text) {
  constexpr std::size_t columns = 96;
  std::string out;
  std::string line = "#";
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find_first_of(" \n", begin), text.size());
    std::string const word = text.substr(begin, end - begin);
    if (line.size() + 1 + word.size() > columns) {
      out += line + "\n";
      line = "#";
    }
    line += word.empty() ? "" : " " + word;
    begin = end + 1;
  }
  return out + line + "\n";
}

std::string path_of_verb(const CLI::App& verb) {
  std::string out = verb.get_name();
  for (const CLI::App* at = verb.get_parent(); at != nullptr; at = at->get_parent()) {
    out = at->get_name() + (out.empty() ? "" : " " + out);
  }
  return out;
}

/// The verb that the words name, and how many of them that takes.
const CLI::App& verb_of(const CLI::App& app, const std::vector<const char*>& words,
                        std::size_t& used) {
  const CLI::App* at = &app;
  for (used = 1; used < words.size(); ++used) {
    auto const below = at->get_subcommands([&](const CLI::App* each) {
      return !each->get_name().empty() && each->get_name() == words[used];
    });
    if (below.empty()) {
      break;
    }
    at = below.front();
  }
  return *at;
}

[[noreturn]] void fail_at(const std::string& place, const std::string& what) {
  throw Failure(ExitCode::bad_input, place + what);
}

/// A value as the command line would have it.
std::string word_of(const toml::node& node, const std::string& place, const std::string& name) {
  if (auto const text = node.value_exact<std::string>()) {
    if (text->empty() || text->find('\0') != std::string::npos) {
      fail_at(place, name + ": it is empty or has a NUL: leave it out, or correct it");
    }
    return *text;
  }
  if (auto const number = node.value_exact<std::int64_t>()) {
    return fmt::format("{}", *number);
  }
  fail_at(place, name + ": expected a string or an integer: correct it");
}

/// The words for one key of the file.
std::vector<std::string> words_of(const toml::node& node, const CLI::Option& option,
                                  const std::string& place, const std::string& name) {
  if (is_flag(option)) {
    auto const on = node.value_exact<bool>();
    if (!on) {
      fail_at(place, name + ": expected true or false: correct it");
    }
    return {fmt::format("--{}={}", name, *on)};
  }
  const toml::array* const list = node.as_array();
  if (list == nullptr) {
    return {fmt::format("--{}={}", name, word_of(node, place, name))};
  }
  if (!takes_several(option)) {
    fail_at(place, name + ": it takes one value: leave out the brackets");
  }
  std::vector<std::string> out;
  for (const toml::node& each : *list) {
    out.push_back(fmt::format("--{}={}", name, word_of(each, place, name)));
  }
  return out;
}

/// What the words after the verb give.
struct GivenOptions {
  std::set<std::string> names;  ///< as "--name"
  std::optional<std::string> config;
};

/// Values are told from positional arguments as CLI11 does it.
GivenOptions given_in(const CLI::App& verb, std::span<const char* const> words) {
  GivenOptions out;
  std::string name;
  bool awaits_value = false;  // whatever it looks like
  bool may_go_on = false;     // further values may follow
  bool has_positional = false;
  for (std::string_view const word : words) {
    if (awaits_value) {
      out.config = name == "--config" ? std::optional(std::string(word)) : out.config;
      awaits_value = false;
    } else if (word.starts_with('-')) {
      std::size_t const equals = word.find('=');
      bool const has_value = equals != std::string_view::npos;
      name = word.substr(0, equals);
      out.names.insert(name);
      if (has_value && name == "--config") {
        out.config = word.substr(equals + 1);
      }
      const CLI::Option* const option = verb.get_option_no_throw(name);
      awaits_value = option != nullptr && !is_flag(*option) && !has_value;
      may_go_on = option != nullptr && option->get_allow_extra_args();
    } else {
      has_positional = has_positional || !may_go_on;
    }
  }
  for (auto const& [each, option] : options_in(verb)) {
    if (has_positional && option->get_positional()) {
      out.names.insert("--" + each);
    }
  }
  return out;
}

}  // namespace

void add_config_options(CLI::App& verb, std::function<void()> run) {
  auto const path = std::make_shared<std::string>();
  auto const prints = std::make_shared<bool>(false);
  verb.add_option("--config", *path,
                  "a TOML file with options as keys, like port = 8080 or address = [\"...\"]; "
                  "what the command line gives too is taken from there")
      ->each([path](const std::string&) {});  // keeps it alive
  verb.add_flag("--print-config", *prints, "print the options as a file for --config, and end");
  verb.callback([&verb, run = std::move(run), prints] {
    if (*prints) {
      fmt::print("{}", config_text(verb));
    } else {
      run();
    }
  });
}

std::string config_text(const CLI::App& verb) {
  std::string out = fmt::format("# {}\n", path_of_verb(verb));
  for (auto const& [name, option] : options_in(verb)) {
    out += "\n" + comment(option->get_description());
    std::vector<std::string> const given = option->results();
    if (given.empty()) {
      std::string const usual = option->get_default_str();
      out += is_flag(*option) ? fmt::format("# {} = false\n", name)
             : usual.empty()  ? fmt::format("# {} =\n", name)
                              : fmt::format("# {} = {}\n", name, value_text(*option, usual));
    } else if (is_flag(*option)) {
      out += fmt::format("{} = {}\n", name, CLI::detail::to_flag_value(given.back()) > 0);
    } else if (takes_several(*option)) {
      std::string list;
      for (const std::string& each : given) {
        list += (list.empty() ? "" : ", ") + value_text(*option, each);
      }
      out += fmt::format("{} = [{}]\n", name, list);
    } else {
      out += fmt::format("{} = {}\n", name, value_text(*option, given.back()));
    }
  }
  return out;
}

ConfiguredWords::ConfiguredWords(const CLI::App& app, const std::vector<const char*>& words)
    : words_(words) {
  std::size_t used = 0;
  const CLI::App& verb = verb_of(app, words, used);
  if (verb.get_option_no_throw("--config") == nullptr) {
    return;
  }
  auto const given = given_in(verb, std::span(words).subspan(used));
  if (!given.config) {
    return;
  }
  read(verb, *given.config);
  std::erase_if(added_, [&](const std::string& each) {
    return given.names.contains(each.substr(0, each.find('=')));
  });
  for (const std::string& each : given.names) {
    places_.erase(each);
  }
  std::vector<const char*> more;
  for (const std::string& each : added_) {
    more.push_back(each.c_str());
  }
  words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(used), more.begin(), more.end());
}

void ConfiguredWords::read(const CLI::App& verb, const std::string& path) {
  auto const known = options_in(verb);
  std::vector<std::string> names;
  for (auto const& [name, option] : known) {
    names.push_back(name);
  }
  for (auto const& [key, node] : parse_toml(path)) {
    std::string const name(key.str());
    std::string const place = fmt::format("{}:{}: ", path, key.source().begin.line);
    auto const found = std::find_if(known.begin(), known.end(),
                                    [&](auto const& each) { return each.first == name; });
    if (found == known.end()) {
      fail_at(place, fmt::format("{} has no option '{}'{}", path_of_verb(verb), name,
                                 suggestion(name, names)));
    }
    for (std::string& word : words_of(node, *found->second, place, name)) {
      added_.push_back(std::move(word));
    }
    places_["--" + name] = place;
  }
}

std::string ConfiguredWords::place_of(const std::string& message) const {
  std::size_t const begin = message.find("--");
  if (begin == std::string::npos) {
    return {};
  }
  std::size_t const end = message.find_first_of(" :,.;=", begin);
  auto const found = places_.find(message.substr(begin, end - begin));
  return found == places_.end() ? std::string{} : found->second;
}

}  // namespace lockstep::tools
