// The frame of an HTML report: style, filters, tiles.
#include "tools/base/output/page.hpp"

#include <fmt/format.h>

#include "tools/base/output/xml.hpp"

namespace lockstep::tools {
namespace {

constexpr std::string_view style = R"css(
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5d6876; --line: #d9dee5;
  --ground: #f6f7f9; --card: #fff; --good: #17713a; --good-ground: #e2f4e7; --bad: #b3261e;
  --bad-ground: #fce8e6; --allowed: #1d5fa8; --allowed-ground: #e3eefb; --unknown: #6b5a14;
  --unknown-ground: #faf1d2; --plain: #4a5563; --plain-ground: #edf0f3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa6b4; --line: #333b46;
  --ground: #14181d; --card: #1c2229; --good: #7fd39a; --good-ground: #143522; --bad: #ff9d94;
  --bad-ground: #45191a; --allowed: #90c0f5; --allowed-ground: #16304d; --unknown: #e6cd75;
  --unknown-ground: #3a3213; --plain: #b6c0cc; --plain-ground: #2a323c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
main { max-width: 1240px; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; max-width: 75ch; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .87em; }
.lead, .note { color: var(--soft); }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1.2rem 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .6rem .9rem; flex: 1 1 8rem; }
.tile b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .85rem; }
.tile.good b { color: var(--good); }
.tile.bad b { color: var(--bad); }
.filters { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 0 0 .6rem; }
.filters input, .filters select { font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--line); border-radius: 6px; padding: .35rem .5rem; min-width: 0;
  max-width: 100%; }
.filters input { flex: 1 1 12rem; }
.filters output { color: var(--soft); white-space: nowrap; margin-left: auto; }
.rows { border: 1px solid var(--line); border-radius: 8px; background: var(--card);
  overflow: hidden; }
.row { border-top: 1px solid var(--line); }
.row:first-child { border-top: 0; }
.row[hidden] { display: none; }
.row > summary, .head { display: grid; grid-template-columns: var(--columns); gap: .3rem .8rem;
  padding: .45rem .8rem; align-items: baseline; }
.row > summary { cursor: pointer; list-style: none; }
.row > summary::-webkit-details-marker { display: none; }
.row > summary:hover, .row[open] > summary { background: var(--ground); }
.head { color: var(--soft); font-size: .8rem; border-bottom: 1px solid var(--line); }
.head + .row { border-top: 0; }
.id { font-weight: 600; }
.level { color: var(--soft); font-size: .82rem; }
.more { padding: .3rem .8rem .9rem; }
.more dl { display: grid; grid-template-columns: 6.5rem 1fr; gap: .25rem .8rem; margin: .3rem 0; }
.more dt { color: var(--soft); }
.more dd { margin: 0; }
.more dd code { display: inline-block; margin-right: .9rem; }
.badge { display: inline-block; border-radius: 99px; padding: .05rem .55rem; font-size: .82rem;
  color: var(--plain); background: var(--plain-ground); }
.badge.good { color: var(--good); background: var(--good-ground); }
.badge.bad { color: var(--bad); background: var(--bad-ground); }
.badge.allowed { color: var(--allowed); background: var(--allowed-ground); }
.badge.unknown { color: var(--unknown); background: var(--unknown-ground); }
.label { display: none; color: var(--soft); font-size: .8rem; margin-right: .3rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0;
  background: var(--ground); max-width: 100%; }
.scroll pre { margin: 0; padding: .6rem .8rem; overflow-wrap: normal; }
.scroll svg { display: block; color: var(--ink); }
.sequence text { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; fill: var(--ink); }
.sequence .time, .sequence .remark { fill: var(--soft); }
.sequence text.lane { font-weight: 700; }
.sequence line.lane { stroke: var(--line); stroke-width: 2; }
.sequence .arrow { stroke: var(--plain); stroke-width: 1.4; fill: none; }
.sequence .arrow.marked { stroke: var(--bad); stroke-width: 2.2; }
.sequence text.marked { fill: var(--bad); font-weight: 700; }
.sequence .dot { fill: var(--soft); }
.diff { border-collapse: collapse; font: .82rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace;
  white-space: pre; }
.diff td, .diff th { padding: .1rem .8rem; text-align: left; vertical-align: top; }
.diff th { color: var(--soft); font-weight: 400; }
.diff .marked { background: var(--bad-ground); color: var(--bad); }
.failure { border: 1px solid var(--bad); border-radius: 8px; background: var(--card);
  padding: .8rem 1rem; margin: .8rem 0; }
.failure h3 { margin: 0; font-size: 1rem; }
.sums { display: grid; grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr)); gap: .5rem;
  margin: .8rem 0; }
.sums a { color: inherit; text-decoration: none; background: var(--card); border-radius: 8px;
  border: 1px solid var(--line); padding: .4rem .7rem; font-size: .85rem; }
.sums a:hover { border-color: var(--allowed); }
.sums span { color: var(--soft); display: block; }
.none { padding: .8rem; color: var(--soft); }
@media (max-width: 820px) {
  .row > summary { display: flex; flex-wrap: wrap; }
  .head { display: none; }
  .label { display: inline; }
  .what { flex: 1 0 100%; order: 9; }
  .more dl { grid-template-columns: 1fr; }
  .more dt { margin-top: .4rem; }
  .filters select, .filters input { flex: 1 1 40%; }
}
@media print { .filters { display: none; } }
)css";

constexpr std::string_view script = R"js(
for (const list of document.querySelectorAll('.list')) {
  const rows = [...list.querySelectorAll('.row')];
  const texts = rows.map(row => row.textContent.toLowerCase());
  const form = list.querySelector('.filters');
  const controls = [...form.querySelectorAll('input, select')];
  const name = control => list.id + '.' + control.name;
  const read = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const control of controls) control.value = asked.get(name(control)) || '';
    apply();
  };
  const apply = () => {
    const find = form.elements.find.value.trim().toLowerCase();
    const picked = controls.filter(control => control.name !== 'find' && control.value);
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !(texts[place].includes(find) &&
        picked.every(control => row.dataset[control.name] === control.value));
      shown += row.hidden ? 0 : 1;
    });
    form.querySelector('output').textContent = shown + ' of ' + rows.length;
    list.querySelector('.none').hidden = shown > 0;
  };
  const tell = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const control of controls) {
      if (control.value) asked.set(name(control), control.value);
      else asked.delete(name(control));
    }
    history.replaceState(null, '', '#' + asked);
    apply();
  };
  form.addEventListener('input', tell);
  form.addEventListener('submit', event => event.preventDefault());
  addEventListener('hashchange', read);
  read();
}
)js";

}  // namespace

std::string filters_html(const std::vector<Choice>& choices) {
  std::string out =
      "<form class=\"filters\"><input type=\"search\" name=\"find\" placeholder=\"Find\" "
      "aria-label=\"Find\" autocomplete=\"off\">";
  for (const Choice& choice : choices) {
    out += fmt::format("<select name=\"{}\" aria-label=\"{}\"><option value=\"\">{}</option>",
                       xml_escaped(choice.key), xml_escaped(choice.all), xml_escaped(choice.all));
    for (const auto& [value, label] : choice.values) {
      out +=
          fmt::format("<option value=\"{}\">{}</option>", xml_escaped(value), xml_escaped(label));
    }
    out += "</select>";
  }
  return out + "<output></output></form>\n";
}

std::string tiles_html(const std::vector<Tile>& tiles) {
  std::string out = "<div class=\"tiles\">";
  for (const Tile& tile : tiles) {
    out += fmt::format("<div class=\"tile {}\"><b>{}</b><span>{}</span></div>", tile.state,
                       xml_escaped(tile.number), xml_escaped(tile.label));
  }
  return out + "</div>\n";
}

std::string badge_html(std::string_view state, std::string_view text) {
  return fmt::format("<span class=\"badge {}\">{}</span>", state, xml_escaped(text));
}

std::string page_html(std::string_view title, std::string_view lead, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n"
      "<p class=\"lead\">{}</p>\n{}</main>\n<script>{}</script>\n</body>\n</html>\n",
      xml_escaped(title), style, xml_escaped(title), xml_escaped(lead), body, script);
}

}  // namespace lockstep::tools
