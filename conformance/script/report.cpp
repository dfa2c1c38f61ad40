// Runs many scripts and reports on them: a table, TAP 14, JUnit XML, JSON.
#include "conformance/script/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "conformance/devices/load.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/output/utf8.hpp"
#include "tools/base/output/xml.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

using tools::xml_escaped;

namespace fs = std::filesystem;

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "FAILED";
    case Verdict::bad:
      return "BAD";
    case Verdict::left_out:
      return "left out";
  }
  return "";
}

/// How many scripts were left out for each reason.
std::map<std::string, std::size_t> reasons_of(const Report& report) {
  std::map<std::string, std::size_t> out;
  for (Ran const& ran : report.scripts) {
    if (ran.verdict == Verdict::left_out) {
      ++out[ran.reason];
    }
  }
  return out;
}

/// The rows that only the report on a device has.
std::string device_text(const Report& report) {
  std::uint32_t unasked = 0;
  for (Ran const& ran : report.scripts) {
    unasked += ran.unasked;
  }
  std::string out =
      fmt::format("device {}: {} scripts are left out, {} assertions were not asked\n",
                  report.device, report.count(Verdict::left_out), unasked);
  for (auto const& [reason, count] : reasons_of(report)) {
    out += fmt::format("  {:>4}  {}\n", count, reason);
  }
  return out;
}

/// For the line of totals; of a device, its own rows tell more.
std::string left_out_text(const Report& report) {
  std::size_t const count = report.count(Verdict::left_out);
  return count == 0 || !report.device.empty() ? "" : fmt::format(", {} are left out", count);
}

/// A line for each thing that a script says and that was not carried out.
std::string notes_text(const Ran& ran, std::string_view indent) {
  std::string out;
  for (Note const& one : ran.notes) {
    out += fmt::format("{}{}:{}: {}: {}\n", indent, ran.file, one.place.line,
                       one.lenient ? "left out" : "no effect",
                       one.lenient ? one.why : fmt::format("{} ({})", one.text, one.why));
  }
  return out;
}

/// The first word of a note: a command, a sysctl or a setting.
std::string head_of(const Note& note) {
  std::string const word = note.text.substr(0, note.text.find_first_of(" ="));
  return word.substr(word.rfind('/') + 1);
}

/// How often each thing had no effect or was left out, for all scripts.
std::string notes_summary(const Report& report) {
  std::map<std::string, std::size_t> without, left_out;
  std::size_t count = 0, scripts = 0;
  for (Ran const& ran : report.scripts) {
    scripts += ran.notes.empty() ? 0 : 1;
    for (Note const& one : ran.notes) {
      ++(one.lenient ? left_out : without)[head_of(one)];
      ++count;
    }
  }
  std::string out;
  const auto add = [&out](std::string_view what, const std::map<std::string, std::size_t>& all) {
    for (auto const& [name, times] : all) {
      out += fmt::format("  {:>5}  {}: {}\n", times, what, name);
    }
  };
  add("left out", left_out);
  add("no effect", without);
  return count == 0 ? out
                    : fmt::format("{} commands and settings of {} scripts were not carried out:\n",
                                  count, scripts) +
                          out;
}

std::string seconds_text(std::uint64_t ns) {
  return fmt::format("{}.{:06} s", ns / 1'000'000'000, ns / 1000 % 1'000'000);
}

std::string what_of(const Ran& ran) {
  if (ran.verdict == Verdict::bad) {
    return ran.error;
  }
  return fmt::format("{}:{}: {}", ran.file, ran.finding.place.line, ran.finding.what);
}

/// The scripts of a folder and its subfolders.
void add_folder(const fs::path& path, std::vector<std::string>& out) {
  std::size_t const before = out.size();
  std::error_code error;
  fs::recursive_directory_iterator at(path, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code unknown;  // of a dangling link; reported when it is read
    bool const folder = at->is_directory(unknown);
    if (at->path().extension() == ".pkt" && !folder) {
      out.push_back(at->path().lexically_normal().generic_string());
    }
  }
  if (error) {
    throw tools::Failure(
        tools::ExitCode::environment,
        fmt::format("{}: a folder cannot be searched ({}), expected "
                    "one that can be read: correct its permissions, or name others",
                    path.string(), error.message()));
  }
  if (out.size() == before) {
    throw tools::Failure(
        tools::ExitCode::bad_input,
        fmt::format("{}: there is no script in this folder, expected files that end in "
                    ".pkt: name another folder",
                    path.string()));
  }
}

/// As JSON; invalid UTF-8 is replaced.
std::string dumped(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

void add_file(const fs::path& path, std::vector<std::string>& out) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    add_folder(path, out);
    return;
  }
  if (!fs::exists(path, error)) {
    throw tools::Failure(tools::ExitCode::environment,
                         fmt::format("{}: there is no such file or folder, expected a .pkt script "
                                     "or a folder of them: correct the name",
                                     path.string()));
  }
  out.push_back(path.lexically_normal().generic_string());
}

}  // namespace

std::string finding_text(const Ran& ran) {
  Finding const& finding = ran.finding;
  std::string out =
      fmt::format("{}:{}: {}\n  {}\n", ran.file, finding.place.line, finding.what, ran.line);
  std::size_t field = 0, expected = 8;
  for (Row const& row : finding.rows) {
    field = std::max(field, row.field.size());
    expected = std::max(expected, row.expected.size());
  }
  if (!finding.rows.empty()) {
    out += fmt::format("    {:<{}}  {:<{}}  {}\n", "", field, "expected", expected, "actual");
  }
  for (Row const& row : finding.rows) {
    out += fmt::format("  {} {:<{}}  {:<{}}  {}\n", row.differs ? "!" : " ", row.field, field,
                       row.expected, expected, row.actual);
  }
  out += finding.next.empty() ? "" : "  " + finding.next + "\n";
  return out + "  state: " + finding.state + "\n";
}

std::size_t Report::count(Verdict verdict) const {
  std::size_t count = 0;
  for (Ran const& ran : scripts) {
    count += ran.verdict == verdict ? 1 : 0;
  }
  return count;
}

int Report::exit_code() const {
  int worst = 0;
  for (Ran const& ran : scripts) {
    worst = std::max(worst, ran.exit_code);
  }
  return worst;
}

std::uint64_t Report::per_second() const {
  return seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(scripts.size()) / seconds)
                     : 0;
}

std::vector<std::string> find_scripts(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (std::string const& path : paths) {
    add_file(path, out);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Report run_all(const std::vector<std::string>& files, const Batch& batch) {
  Report report;
  report.device =
      batch.overrides.device.empty() ? "" : conformance::device_name(batch.overrides.device);
  report.scripts.resize(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    Arena arena;
    for (std::size_t i = next++; i < files.size(); i = next++) {
      report.scripts[i] = run_file(files[i], batch.defines, batch.overrides, arena);
    }
  };
  auto const begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (std::uint32_t i = 1; i < batch.jobs; ++i) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - begin;
  report.seconds = passed.count();
  return report;
}

std::string table_text(const Report& report, bool only_failed, std::size_t width) {
  using Align = tools::TextTable::Align;
  tools::TextTable table({{"script", Align::left},
                          {"virtual time", Align::right},
                          {"in", Align::right},
                          {"out", Align::right},
                          {"verdict", Align::left}});
  std::string findings, lenient;
  bool any = false;
  for (Ran const& ran : report.scripts) {
    bool const passed = ran.verdict == Verdict::passed;
    if (!only_failed || !passed) {
      table.add({ran.file, seconds_text(ran.virtual_ns), fmt::format("{}", ran.packets_in),
                 fmt::format("{}", ran.packets_out), std::string(name_of(ran.verdict))});
      any = true;
    }
    if (!passed && ran.verdict != Verdict::left_out) {
      findings += "\n" + (ran.verdict == Verdict::bad ? ran.error + "\n" : finding_text(ran));
    }
    for (Note const& one : ran.notes) {
      lenient += one.lenient
                     ? fmt::format("{}:{}: left out: {}\n", ran.file, one.place.line, one.why)
                     : "";
    }
  }
  std::string const totals =
      fmt::format("{}{} of {} scripts pass, {} fail, {} cannot be run{}\n", any ? "\n" : "",
                  report.count(Verdict::passed), report.scripts.size(),
                  report.count(Verdict::failed), report.count(Verdict::bad), left_out_text(report));
  lenient = lenient.empty() ? "" : "\n" + lenient;
  return (any ? table.text(width) : "") + findings + lenient + totals + notes_summary(report) +
         (report.device.empty() ? "" : device_text(report));
}

std::string tap_text(const Report& report) {
  std::string out = fmt::format("TAP version 14\n1..{}\n", report.scripts.size());
  for (std::size_t i = 0; i < report.scripts.size(); ++i) {
    Ran const& ran = report.scripts[i];
    bool const passed = ran.verdict == Verdict::passed;
    std::string name;
    for (char const c : tools::utf8_only(ran.file)) {
      bool const control = static_cast<unsigned char>(c) < 0x20;
      name += c == '#' || c == '\\' ? std::string{'\\', c} : std::string{control ? '?' : c};
    }
    bool const skipped = ran.verdict == Verdict::left_out;
    out += fmt::format("{} {} - {}{}\n", passed || skipped ? "ok" : "not ok", i + 1, name,
                       skipped ? " # SKIP " + tools::utf8_only(ran.reason) : "");
    if (!passed && !skipped) {
      out += fmt::format("  ---\n  message: {}\n  severity: {}\n  ...\n",
                         dumped(what_of(ran), -1),  // valid as a quoted YAML string too
                         ran.verdict == Verdict::bad ? "error" : "fail");
    }
  }
  return out;
}

std::string junit_text(const Report& report) {
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"pkt\" tests=\"{}\" failures=\"{}\" errors=\"{}\"{}>\n",
      report.scripts.size(), report.count(Verdict::failed), report.count(Verdict::bad),
      report.device.empty() && report.count(Verdict::left_out) == 0
          ? ""
          : fmt::format(" skipped=\"{}\"", report.count(Verdict::left_out)));
  for (Ran const& ran : report.scripts) {
    fs::path const path(ran.file);
    std::uint64_t const us = ran.virtual_ns / 1000;
    out += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{}.{:06}\"",
                       xml_escaped(path.parent_path().generic_string()),
                       xml_escaped(path.stem().generic_string()), us / 1'000'000, us % 1'000'000);
    std::string const notes = ran.notes.empty() ? ""
                                                : fmt::format("      <system-out>{}</system-out>\n",
                                                              xml_escaped(notes_text(ran, "")));
    if (ran.verdict == Verdict::passed) {
      out += notes.empty() ? "/>\n" : ">\n" + notes + "    </testcase>\n";
      continue;
    }
    if (ran.verdict == Verdict::left_out) {
      out += fmt::format(">\n      <skipped message=\"{}\"/>\n{}    </testcase>\n",
                         xml_escaped(ran.reason), notes);
      continue;
    }
    std::string const kind = ran.verdict == Verdict::bad ? "error" : "failure";
    std::string const text = ran.verdict == Verdict::bad ? ran.error : finding_text(ran);
    out += fmt::format(">\n      <{} message=\"{}\">{}</{}>\n{}    </testcase>\n", kind,
                       xml_escaped(what_of(ran)), xml_escaped(text), kind, notes);
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

std::string json_text(const Report& report) {
  nlohmann::ordered_json out;
  if (!report.device.empty()) {
    out["device"] = report.device;
  }
  if (!report.device.empty() || report.count(Verdict::left_out) != 0) {
    out["left_out"] = report.count(Verdict::left_out);
  }
  out["scripts"] = report.scripts.size();
  out["passed"] = report.count(Verdict::passed);
  out["failed"] = report.count(Verdict::failed);
  out["bad"] = report.count(Verdict::bad);
  out["results"] = nlohmann::ordered_json::array();
  for (Ran const& ran : report.scripts) {
    nlohmann::ordered_json one;
    one["file"] = ran.file;
    one["verdict"] = ran.verdict == Verdict::passed     ? "passed"
                     : ran.verdict == Verdict::failed   ? "failed"
                     : ran.verdict == Verdict::left_out ? "left_out"
                                                        : "bad";
    if (!report.device.empty()) {
      one["unasked"] = ran.unasked;
    }
    if (ran.verdict == Verdict::left_out) {
      one["reason"] = ran.reason;
    }
    one["virtual_ns"] = ran.virtual_ns;
    one["events"] = ran.events;
    one["packets_in"] = ran.packets_in;
    one["packets_out"] = ran.packets_out;
    if (ran.verdict == Verdict::bad) {
      one["error"] = ran.error;
    } else if (ran.verdict == Verdict::failed) {
      one["line"] = ran.finding.place.line;
      one["text"] = ran.line;
      one["what"] = ran.finding.what;
      one["next"] = ran.finding.next;
      one["state"] = ran.finding.state;
      one["fields"] = nlohmann::ordered_json::array();
      for (Row const& row : ran.finding.rows) {
        one["fields"].push_back({{"field", row.field},
                                 {"expected", row.expected},
                                 {"actual", row.actual},
                                 {"differs", row.differs}});
      }
    }
    if (!ran.notes.empty()) {
      one["not_carried_out"] = nlohmann::ordered_json::array();
      for (Note const& note : ran.notes) {
        one["not_carried_out"].push_back({{"line", note.place.line},
                                          {"text", note.text},
                                          {"why", note.why},
                                          {"left_out", note.lenient}});
      }
    }
    if (!ran.capture_path.empty()) {
      one["capture"] = ran.capture_path;
    }
    out["results"].push_back(std::move(one));
  }
  return dumped(out, 2) + "\n";
}

void name_captures(Report& report, const fs::path& folder) {
  std::set<std::string> taken;
  for (Ran& ran : report.scripts) {
    if (ran.capture.empty()) {
      continue;
    }
    std::string name;
    for (char const c : fs::path(ran.file).replace_extension().generic_string()) {
      bool const inner = !name.empty() || (c != '/' && c != '.');
      name += !inner ? "" : c == '/' ? "_" : std::string{c};
    }
    std::string own = name;
    for (int number = 2; !taken.insert(own).second; ++number) {
      own = fmt::format("{}-{}", name, number);
    }
    ran.capture_path = (folder / (own + ".pcapng")).string();
  }
}

void save_captures(const Report& report) {
  for (Ran const& ran : report.scripts) {
    if (!ran.capture_path.empty()) {
      tools::save_file(ran.capture_path, ran.capture);
    }
  }
}

}  // namespace lockstep::conformance::script
