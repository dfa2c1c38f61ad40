// Walks all verbs and options, and writes them as a man(1) page and as shell completions.
#include "tools/verbs/cli/manual.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <functional>
#include <vector>

namespace lockstep::tools {
namespace {

/// CLI11 represents a group of options as a subcommand without a name.
std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); });
}

/// Calls `visit` for the program and for every verb below it, with the words of its command line.
void walk(const CLI::App& app, const std::string& path,
          const std::function<void(const CLI::App&, const std::string&)>& visit) {
  visit(app, path);
  for (const CLI::App* const verb : verbs_of(app)) {
    walk(*verb, path + " " + verb->get_name(), visit);
  }
}

/// The options that --help lists. An option without a group is hidden.
std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  const auto is_listed = [](const CLI::Option* option) { return !option->get_group().empty(); };
  std::vector<const CLI::Option*> out = app.get_options(is_listed);
  for (const CLI::App* const group :
       app.get_subcommands([](const CLI::App* each) { return each->get_name().empty(); })) {
    for (const CLI::Option* const option : group->get_options(is_listed)) {
      if (std::find(out.begin(), out.end(), option) == out.end()) {
        out.push_back(option);
      }
    }
  }
  return out;
}

/// "-j" and "--json"; empty for a positional argument.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const std::string& name : option.get_snames()) {
    out.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    out.push_back("--" + name);
  }
  return out;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "" : std::string(between)) + word;
  }
  return out;
}

/// Escapes text for roff, so that none of it is read as a request.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    begins = c == '\n';
  }
  return out;
}

/// Text whose line breaks the page keeps.
std::string roff_lines(std::string_view text) { return ".nf\n" + roff(text) + "\n.fi\n"; }

std::string manual_option(const CLI::Option& option) {
  std::vector<std::string> names = names_of(option);
  std::string const head =
      names.empty()
          ? "\\fI" + roff(option.get_name()) + "\\fR"
          : "\\fB" + roff(joined(names, ", ")) + "\\fR" +
                (option.get_type_size() == 0 ? ""
                                             : " \\fI" + roff(option.get_type_name()) + "\\fR");
  std::string const standard =
      option.get_default_str().empty() ? "" : fmt::format(" [{}]", option.get_default_str());
  return ".TP\n" + head + "\n" + roff(option.get_description() + standard) + "\n";
}

/// For each position on the command line the words that may follow, one line each: "path) words".
std::string next_words(const CLI::App& app, std::string_view form) {
  std::string out;
  walk(app, app.get_name(), [&](const CLI::App& at, const std::string& path) {
    std::vector<std::string> words;
    for (const CLI::App* const verb : verbs_of(at)) {
      words.push_back(verb->get_name());
    }
    for (const CLI::Option* const option : options_of(at)) {
      for (const std::string& name : names_of(*option)) {
        words.push_back(name);
      }
    }
    out += fmt::format(fmt::runtime(form), path, joined(words, " "));
  });
  return out;
}

/// "lockstep|lockstep sim|lockstep sim run": every verb and every prefix of one.
std::string paths(const CLI::App& app, std::string_view between) {
  std::vector<std::string> out;
  walk(app, app.get_name(),
       [&](const CLI::App&, const std::string& path) { out.push_back("'" + path + "'"); });
  return joined(out, between);
}

/// Escapes text for single quotes in fish.
std::string fish_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '\\' || c == '\'' ? std::string("\\") + c : std::string(1, c == '\n' ? ' ' : c);
  }
  return "'" + out + "'";
}

}  // namespace

std::string manual_page(const CLI::App& app, std::string_view release) {
  std::string const name = app.get_name();
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string out =
      fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", title, name, release);
  // The description, "Lockstep: what it is".
  std::string const says = app.get_description();
  std::size_t const colon = says.find(": ");
  out += ".SH NAME\n" + name + " \\- " +
         roff(colon == std::string::npos ? says : says.substr(colon + 2)) + "\n";
  out += ".SH SYNOPSIS\n.B " + name + "\n\\fIverb\\fR [\\fIargument\\fR ...]\n.SH COMMANDS\n";
  walk(app, name, [&](const CLI::App& at, const std::string& path) {
    if (&at == &app) {
      return;
    }
    out += ".SS " + roff(path) + "\n" + roff(at.get_description()) + "\n";
    for (const CLI::Option* const option : options_of(at)) {
      out += manual_option(*option);
    }
    // A verb without its own footer gets the program's.
    std::string const footer = at.get_footer();
    if (!footer.empty() && footer != app.get_footer()) {
      out += ".PP\n" + roff_lines(footer);
    }
  });
  return out + ".SH NOTES\n" + roff_lines(app.get_footer());
}

std::string bash_completion(const CLI::App& app) {
  return fmt::format(R"(# bash completion for {0}
_{0}() {{
  local path={0} words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
      {1}) path+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case $path in
{2}  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _{0} {0}
)",
                     app.get_name(), paths(app, " | "),
                     next_words(app, "    '{}') words='{}' ;;\n"));
}

std::string zsh_completion(const CLI::App& app) {
  return fmt::format(R"(#compdef {0}
local at={0} next='' word
for word in ${{words[2,CURRENT-1]}}; do
  case "$at $word" in
    {1}) at+=" $word" ;;
  esac
done
case $at in
{2}esac
compadd -- ${{=next}}
_files
)",
                     app.get_name(), paths(app, " | "), next_words(app, "  '{}') next='{}' ;;\n"));
}

std::string fish_completion(const CLI::App& app) {
  std::string const name = app.get_name();
  std::string out = fmt::format(R"(# fish completion for {0}
function __{0}_is_at
    set -l at {0}
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case {1}
                set at "$at $word"
        end
    end
    test "$at" = "$argv"
end
)",
                                name, paths(app, " "));
  walk(app, name, [&](const CLI::App& at, const std::string& path) {
    std::string const begin = fmt::format("complete -c {} -n '__{}_is_at {}'", name, name, path);
    for (const CLI::App* const verb : verbs_of(at)) {
      out += fmt::format("{} -f -a {} -d {}\n", begin, verb->get_name(),
                         fish_quoted(verb->get_description()));
    }
    for (const CLI::Option* const option : options_of(at)) {
      std::string letters;
      for (const std::string& letter : option->get_snames()) {
        letters += " -s " + letter;
      }
      for (const std::string& word : option->get_lnames()) {
        letters += " -l " + word;
      }
      if (!letters.empty()) {
        out +=
            fmt::format("{}{}{} -d {}\n", begin, letters, option->get_type_size() == 0 ? "" : " -r",
                        fish_quoted(option->get_description()));
      }
    }
  });
  return out;
}

}  // namespace lockstep::tools
