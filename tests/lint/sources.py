"""The files that the checks read, and a C++ scanner just good enough for them."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Where code of ours lives. Everything else in the tree is data, documents or a build.
CODE_FOLDERS = ("src", "agent", "runners", "tests", "bench", "sdk", "cmake")
CPP = {".h", ".cc"}


def cpp_files(root):
    """Every C++ file below the code folders, in a stable order."""
    found = []
    for folder in CODE_FOLDERS:
        top = root / folder
        if top.is_dir():
            found += [p for p in top.rglob("*") if p.suffix in CPP and p.is_file()]
    return sorted(found)


def is_test(path):
    return path.stem.endswith(("_test", "_fuzz", "_bench"))


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(text):
    """(line, is_ours, path) of each include; ours are written with quotes."""
    return [
        (text.count("\n", 0, m.start()) + 1, m.group(1) == '"', m.group(2))
        for m in _INCLUDE.finditer(text)
    ]


_TOKEN = re.compile(
    r"""
      (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)")
    | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<number>\.?\d(?:'?[\w.])*)
    | (?P<char>'(?:\\.|[^'\\\n])+')
    | (?P<operator>::|->|\+\+|--|<<=|\|\||&&|[-+*/%&|^=!<>]=|\.\.\.|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


class Token(str):
    """One token; `line` counts from one. Strings and characters become one placeholder each."""

    line: int


def tokens(text):
    """The tokens of a C++ file, and its comments as a map from line to text. Directives are left out."""
    out, comments = [], {}
    line = 1
    for match in _TOKEN.finditer(text):
        kind, value = match.lastgroup, match.group()
        if kind == "delimiter":
            kind = "raw"
        if kind == "comment":
            for offset, part in enumerate(value.split("\n")):
                comments[line + offset] = comments.get(line + offset, "") + part
        elif kind != "directive" and not value.isspace():
            token = Token({"raw": '""', "string": '""', "char": "''"}.get(kind, value))
            token.line = line
            out.append(token)
        line += value.count("\n")
    return out, comments


def report(problems, good):
    """Prints the problems as compilers do, and gives the exit status."""
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problem(s)" if problems else good)
    return 1 if problems else 0
