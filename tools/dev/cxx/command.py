"""Compiler commands of a build."""


def without_forced_headers(words):
    """The words of a command without the headers that it includes beforehand. They are there to be
    precompiled, but the precompiled ones may be missing, older than the tree, or made with other
    options."""
    words, kept = list(words), []
    while words:
        word = words.pop(0)
        if word == "-Xclang" and words[0] in ("-include", "-include-pch"):
            del words[:3]
        elif word == "-include":
            del words[:1]
        elif word != "-Winvalid-pch":
            kept.append(word)
    return kept
