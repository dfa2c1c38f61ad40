"""Citations: each names a requirement that the list knows, of the RFC that it says."""

import pathlib
import re
import tomllib

from dev.tidy.source import Finding

HEAD = re.compile(r"^\s*(//|#)= rfc(\d+)#(\S+)\s*$")
TYPE = re.compile(r"^\s*(?://|#)= type=(\w+)\s*$")
BODY = re.compile(r"^\s*(//#|##) (\S.*)$")
MARK = re.compile(r"^\s*(?://=|#= )")
ID = re.compile(r"^\d+:[A-Z0-9][\w.\-/]*$", re.I)


def load_known(root):
    """Every requirement id of conformance/requirements, or None while there is no list."""
    folder = pathlib.Path(root) / "conformance" / "requirements"
    known = set()
    for file in sorted(folder.glob("rfc*.toml")):
        rows = tomllib.loads(file.read_text(encoding="utf-8"))
        known.update(row["id"] for row in rows.get("requirements", []))
    return known or None


def ids_of(body):
    """The ids at the start of a citation's body: separated by commas, ended by the first word."""
    ids = []
    for word in body.split(" "):
        bare = word.rstrip(",")
        if not ID.match(bare):
            break
        ids.append(bare)
        if not word.endswith(","):
            break
    return [part for joined in ids for part in joined.split(",") if part]


def check_ids(source, number, ids, rfc, known):
    for one in ids:
        if one not in known:
            yield Finding("citation", source.path, number, f"no requirement is called '{one}'",
                          "take the id from conformance/requirements/")
    if ids and rfc and not any(one.split(":")[0] == rfc for one in ids):
        yield Finding("citation", source.path, number,
                      f"the line above says rfc{rfc}, the id is of rfc{ids[0].split(':')[0]}",
                      "name the same RFC in both lines")


def check_lines(source, known):
    rfc = None
    head_line = 0
    open_body = False  # the line above was a '//#' line, which may go on
    for number, line in enumerate(source.lines, 1):
        head, body = HEAD.match(line), BODY.match(line)
        if head_line and not body and not TYPE.match(line):
            yield Finding("citation", source.path, head_line, "a citation without its '//#' line",
                          "add '//# ID a few words of what is required'")
            head_line = 0
        if head:
            rfc, head_line = head.group(2), number
        elif body and (body.group(1) == "//#" or head_line or open_body):
            ids = ids_of(body.group(2))
            if open_body:
                yield from check_ids(source, number, ids, rfc, known)
            elif head_line and not ids:
                yield Finding("citation", source.path, number, "the citation names no id",
                              "begin with the id, as in '//# 9293:MUST-5 ...'")
            elif head_line:
                yield from check_ids(source, number, ids, rfc, known)
            elif ids:
                yield Finding("citation", source.path, number, "an id without '//= rfcN#S' above",
                              "put '//= rfc9293#3.10.7.4' on the line above")
            head_line = 0
            open_body = True
            continue
        elif MARK.match(line) and not TYPE.match(line) and not head:
            yield Finding("citation", source.path, number, "a citation that cannot be read",
                          "write '//= rfc9293#3.10.7.4'")
        open_body = False


def check_scenario(source, known):
    try:
        scenario = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        yield Finding("citation", source.path, 1, f"not TOML: {error}", "mend the syntax")
        return
    shows = scenario.get("shows", [])
    for one in shows if isinstance(shows, list) else []:
        if one not in known:
            lines = [n for n, line in enumerate(source.lines, 1) if f'"{one}"' in line]
            yield Finding("citation", source.path, lines[0] if lines else 1,
                          f"no requirement is called '{one}'",
                          "take the id from conformance/requirements/")


def check(source, known):
    if known is None:
        return
    if source.is_cpp or source.is_script:
        yield from check_lines(source, known)
    if source.path.endswith("/scenario.toml"):
        yield from check_scenario(source, known)
