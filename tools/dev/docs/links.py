"""Whether each link of a site leads to a page and an anchor that exist, and fetches nothing."""

import functools
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pages import Finding

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src"}
NOT_FETCHED = ("canonical", "next", "prev")


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.links = []
        self.fetched = []
        self.anchors = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        has = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := has.get(key)))
        if tag == "a" and has.get("href"):
            self.links.append((self.getpos()[0], has["href"]))
        elif tag == "link" and has.get("href") and has.get("rel") not in NOT_FETCHED:
            self.fetched.append((self.getpos()[0], has["href"]))
        elif tag in FETCHED and has.get(FETCHED[tag]):
            self.fetched.append((self.getpos()[0], has[FETCHED[tag]]))


def check(site):
    """Returns how many links the site has, and a finding for each dead or fetching one."""
    site = Path(site)
    read = {path: Page(path.read_text(encoding="utf-8", errors="replace"))
            for path in sorted(site.rglob("*.html"))}
    count, findings, seen = 0, [], set()
    for path, page in read.items():
        name = str(path.relative_to(site))
        for line, href in page.links + page.fetched:
            count += 1
            wrong = fault(href, path, site, read, (line, href) in page.fetched)
            if wrong and (name, href) not in seen:
                seen.add((name, href))
                findings.append(Finding(f"build/docs/site/{name}", line, wrong))
    for path in sorted(site.rglob("*.css")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "url(http" in text or "url(//" in text or '@import "http' in text:
            name = f"build/docs/site/{path.relative_to(site)}"
            findings.append(Finding(name, 1, "fetches a file"))
    return count, findings


@functools.cache
def file_at(folder, path, site):
    """The file of the site that a link in `folder` leads to, or None."""
    target = (folder / unquote(path)).resolve()
    target = target / "index.html" if target.is_dir() else target
    top = site.resolve()
    if not target.is_file() or not target.is_relative_to(top):
        return None
    return site / target.relative_to(top)


def fault(href, path, site, read, fetched):
    """What is wrong with a link; empty where nothing is."""
    parts = urlsplit(href)
    if parts.scheme in ("http", "https") or href.startswith("//"):
        return f"{href} is fetched from elsewhere" if fetched else ""
    if parts.scheme or href in ("#", "javascript:void(0)"):
        return ""
    if parts.path.startswith("/"):
        return "" if path.name == "404.html" else f"{href} leads out of the site"
    target = file_at(path.parent, parts.path, site) if parts.path else path
    if target is None:
        return f"the link to {href} is dead"
    anchor = unquote(parts.fragment)
    if anchor and target in read and anchor not in read[target].anchors:
        return f"the link to {href} is dead: the page has no such anchor"
    return ""
