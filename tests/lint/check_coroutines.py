#!/usr/bin/env python3
"""Holds the coroutine rules, which keep frames and temporaries simple enough for every compiler and every reader.

    check_coroutines.py [ROOT]

1. `co_await` is a whole statement, the initialiser of a declaration, the right side of a plain assignment, the
   operand of `co_return`, or the last argument of CO_TRY or CO_TRY_OK. Nothing follows the awaited call.
2. A lambda that captures is no coroutine: its captures die with the lambda, while the frame lives on. (A test may,
   where the lambda outlives the run.)
3. A coroutine takes values: no string_view, no span, no reference to a const standard type and no rvalue reference,
   because what the caller had may be gone at the first resume. Where the caller awaits at once, the declaration says
   so: `// awaited at once`. A reference to a handle of ours (`Sandbox& box`) is welcome: its owner awaits.
"""

import pathlib
import sys

from sources import ROOT, cpp_files, is_test, report, tokens

OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")": "(", "]": "[", "}": "{"}
# What may stand before the `{` of a block. Anything else before a brace makes a braced list.
BEFORE_BLOCK = {")", "]", "{", "}", ";", ":", "else", "do", "try", "const", "noexcept", "override", "final", "mutable"}
AFTER_OPERAND = {"?", ":", ",", "||", "&&", "==", "!=", "+", "*", "/", "%", "|", "^", "<=", ">=", "="}
MARK = "awaited at once"
BORROWED = {"string_view", "span"}
RETURNS_TASK = {"Task", "awaitable"}
CO_WORDS = {"co_await", "co_return", "co_yield"}


def check_text(text, name="file.cc", *, in_test=False):
    toks, comments = tokens(text)
    pair = _pairs(toks)
    problems = []

    def complain(at, why):
        problems.append(f"{name}:{at.line}: {why}")

    for i, token in enumerate(toks):
        if token == "co_await":
            if why := _await_problem(toks, pair, i):
                complain(token, why)
        elif token == "[" and _begins_lambda(toks, pair, i):
            body, parameters, returns = _lambda_parts(toks, pair, i)
            if pair[i] > i + 1 and body and not in_test and _is_coroutine(toks, pair, body):
                complain(token, "a lambda with captures is a coroutine: make it a function with parameters")
            if parameters and RETURNS_TASK & set(returns):
                _check_parameters(toks, comments, parameters, i, complain)
        elif token in RETURNS_TASK and (found := _function_after(toks, pair, i)):
            parameters, is_decided_elsewhere = found
            if not is_decided_elsewhere:
                _check_parameters(toks, comments, parameters, i, complain)
    return problems


def _pairs(toks):
    """Index of the partner of each bracket; an unmatched one is its own partner."""
    pair, stack = {}, []
    for i, token in enumerate(toks):
        if token in OPEN:
            stack.append(i)
        elif token in CLOSE:
            if stack and toks[stack[-1]] == CLOSE[token]:
                start = stack.pop()
                pair[start], pair[i] = i, start
            else:
                pair[i] = i
    for i in stack:
        pair[i] = i
    return pair


def _await_problem(toks, pair, at):
    """Why this co_await stands where it may not, or None."""
    prefix, i = [], at - 1
    is_in_macro = False
    while i >= 0:
        token = toks[i]
        if token == ";" or (token == "}" and _is_block(toks, pair[i])):
            break
        if token == "{":
            if _is_block(toks, i):
                break
            return "co_await inside a braced list: name its result on the line above"
        if token == "(":
            macro = toks[i - 1] if i else ""
            if macro not in ("CO_TRY", "CO_TRY_OK"):
                return "co_await inside parentheses (an argument or a condition): name its result on the line above"
            if not _is_last_argument(macro, prefix):
                return f"co_await in {macro} is not the whole last argument"
            is_in_macro = True
            break
        if token == "[":
            return "co_await inside brackets: name its result on the line above"
        if token == ")" and _is_header(toks, pair[i]):
            break  # if (…) co_await x;
        if token in ("else", "do") or (token == ":" and _is_label(toks, i)):
            break
        if token in CLOSE:
            prefix[:0] = toks[pair[i] : i + 1]
            i = pair[i] - 1
            continue
        prefix.insert(0, token)
        i -= 1
    if not is_in_macro and not _is_allowed(prefix):
        return f"co_await inside an expression (after '{prefix[-1]}'): name its result on the line above"
    return _tail_problem(toks, pair, at)


def _is_allowed(prefix):
    if not prefix or prefix == ["co_return"] or prefix == ["(", "void", ")"]:
        return True
    return prefix[-1] == "=" and "?" not in prefix and prefix.count("=") == 1


def _is_last_argument(macro, prefix):
    return not prefix if macro == "CO_TRY_OK" else bool(prefix) and prefix[-1] == ","


def _tail_problem(toks, pair, at):
    """The awaited call must reach to the end of the statement (or of the macro)."""
    i = at + 1
    while i < len(toks) and toks[i] not in (";", ")"):
        if toks[i] in AFTER_OPERAND:
            return f"'{toks[i]}' after an awaited call: name its result first"
        i = pair[i] + 1 if toks[i] in OPEN and pair[i] > i else i + 1
    return None


def _is_block(toks, brace):
    """Whether this `{` opens a block rather than a braced list."""
    before = toks[brace - 1] if brace else ";"
    if before in BEFORE_BLOCK:
        return True
    # `-> Task<void> {`, `struct X {`, `namespace atl {`: walk over the type to what introduces it.
    i, depth = brace - 1, 0
    while i >= 0:
        token = toks[i]
        depth += (token == ">") - (token == "<")
        if depth == 0 and token in ("->", "struct", "class", "namespace", "union", "enum", "extern"):
            return True
        if depth == 0 and not (token.isidentifier() or token in ("::", "<", ">", ",", '""', "*", "&")):
            return False
        if token in (";", "{", "}", "="):
            return False
        i -= 1
    return False


def _is_header(toks, paren):
    before = toks[paren - 1] if paren else ""
    return before in ("if", "for", "while", "switch") or (before == "constexpr" and toks[paren - 2] == "if")


def _is_label(toks, colon):
    """`case x:`, `default:`; not the colon of ?: or of a range-for."""
    i = colon - 1
    while i >= 0 and (toks[i].isidentifier() or toks[i] in ("::", "''") or toks[i][0].isdigit()):
        if toks[i] in ("case", "default"):
            return True
        i -= 1
    return False


def _begins_lambda(toks, pair, at):
    if pair[at] == at:
        return False
    before = toks[at - 1] if at else ";"
    after = toks[at + 1]
    if before == "[" or after == "[":
        return False  # an attribute
    is_subscript = before in (")", "]", '""') or (before.isidentifier() and before not in ("return", "co_return", "co_await"))
    return not is_subscript and toks[min(pair[at] + 1, len(toks) - 1)] in ("(", "{", "<", "mutable", "->", "noexcept")


def _lambda_parts(toks, pair, at):
    """(index of the body's brace or None, range of the parameters or None, the words of the return type)"""
    i, parameters, returns = pair[at] + 1, None, []
    if i < len(toks) and toks[i] == "<":
        i = _after_angles(toks, i)
    if i < len(toks) and toks[i] == "(":
        parameters = (i + 1, pair[i])
        i = pair[i] + 1
    while i < len(toks) and toks[i] not in ("{", ";", ")"):
        returns.append(toks[i])
        i = pair[i] + 1 if toks[i] in OPEN and pair[i] > i else i + 1
    return (i if i < len(toks) and toks[i] == "{" else None), parameters, returns


def _is_coroutine(toks, pair, body):
    """Whether a co_ word stands in this body itself, not in a lambda within it."""
    i = body + 1
    while i < pair[body]:
        if toks[i] in CO_WORDS or toks[i] in ("CO_TRY", "CO_TRY_OK"):
            return True
        if toks[i] == "[" and _begins_lambda(toks, pair, i):
            inner, _, _ = _lambda_parts(toks, pair, i)
            if inner:
                i = pair[inner]
        i += 1
    return False


def _after_angles(toks, at):
    depth = 0
    for i in range(at, min(at + 200, len(toks))):
        depth += (toks[i] == "<") - (toks[i] == ">")
        if toks[i] in (";", "{"):
            return at
        if depth == 0:
            return i + 1
    return at


def _function_after(toks, pair, at):
    """For `Task<X> name(…)`: the range of its parameters, and whether another declaration decides for it."""
    i = at + 1
    if i >= len(toks) or toks[i] != "<":
        return None
    i = _after_angles(toks, i)
    if i == at + 1 or i >= len(toks) or not toks[i].isidentifier():
        return None
    is_qualified = False
    while i + 1 < len(toks) and toks[i].isidentifier() and toks[i + 1] == "::":
        is_qualified = True
        i += 2
    if i + 1 >= len(toks) or not toks[i].isidentifier() or toks[i + 1] != "(" or pair[i + 1] == i + 1:
        return None
    close = pair[i + 1]
    after = toks[close + 1 : close + 5]
    overrides = "override" in after[: after.index("{")] if "{" in after else "override" in after
    return (i + 2, close), is_qualified or overrides


def _check_parameters(toks, comments, parameters, at, complain):
    start, end = parameters
    depth = 0
    for i in range(start, end):
        depth += (toks[i] in ("<", "(")) - (toks[i] in (">", ")"))
        is_inside_function = depth > 0 and "function" in toks[start:i]
        is_const_standard = toks[i : i + 3] == ["const", "std", "::"] and "&" in _parameter(toks, i, end)
        is_rvalue = toks[i] == "&&" and depth == 0
        if (toks[i] in BORROWED or is_const_standard or is_rvalue) and not is_inside_function:
            first = toks[at].line
            while first - 1 in comments and not any(t.line == first - 1 for t in toks):
                first -= 1
            lines = range(first, toks[min(end + 1, len(toks) - 1)].line + 1)
            if not any(MARK in comments.get(line, "") for line in lines):
                what = "a const reference" if is_const_standard else "an rvalue reference" if is_rvalue else toks[i]
                complain(toks[i], f"a coroutine takes {what}: take it by value, or mark it '// {MARK}'")
            return


def _parameter(toks, at, end):
    """The tokens of one parameter outside of its template arguments."""
    depth, found = 0, []
    for i in range(at, end):
        depth += (toks[i] in ("<", "(")) - (toks[i] in (">", ")"))
        if depth == 0 and toks[i] == ",":
            break
        if depth == 0:
            found.append(toks[i])
    return found


def check(root):
    problems = []
    for path in cpp_files(root):
        name = path.relative_to(root).as_posix()
        in_test = is_test(path) or name.startswith(("tests/", "bench/"))
        problems += check_text(path.read_text(errors="replace"), name, in_test=in_test)
    return problems


def main():
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    count = len(cpp_files(root))
    if count == 0:
        return report([f"no C++ file below {root}"], "")
    return report(check(root), f"{count} files keep the coroutine rules")


if __name__ == "__main__":
    sys.exit(main())
