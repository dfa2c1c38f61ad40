"""The files that a change touches, as git knows them."""

import pathlib
import subprocess

MAINS = ("origin/main", "main")


def git(root, *arguments):
    """What git prints, or None if it fails."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True,
                              check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def base_of(root):
    """The commit with which the tree is compared: where it left main, or, on main itself, the
    commit before; None without git."""
    head = git(root, "rev-parse", "HEAD")
    if head is None or not (pathlib.Path(root) / ".git").exists():
        return None
    for main in MAINS:
        base = git(root, "merge-base", "HEAD", main)
        if base is not None:
            if base != head:
                return base.strip()
            break
    before = git(root, "rev-parse", "--verify", "-q", "HEAD~1")
    return (before or head).strip()


def files(root):
    """The paths that differ from that commit, committed or not; None without git."""
    base = base_of(root)
    if base is None:
        return None
    changed = git(root, "diff", "--name-only", "-z", base, "--") or ""
    new = git(root, "ls-files", "-z", "--others", "--exclude-standard") or ""
    return {name for name in (changed + new).split("\0") if name}
