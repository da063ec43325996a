"""The generated modules in Python: types, the table of operations, a method for each."""

import keyword
import textwrap

from . import document

NOTICE = "# Generated from docs/openapi.yaml by sdk/generate.py. Change those.\n"
WIDTH = 120
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "any": "Any"}


def spell(kind, quote=False):
    head = kind[0]
    if head == "name":
        return f'"{kind[1]}"' if quote else kind[1]
    if head == "literal":
        return "Literal[" + ", ".join(spell_value(value) for value in kind[1]) + "]"
    if head == "list":
        return f"List[{spell(kind[1], quote)}]"
    if head == "map":
        return f"Dict[str, {spell(kind[1], quote)}]"
    if head == "union":
        distinct = list(dict.fromkeys(spell(choice, quote) for choice in kind[1]))
        if "None" in distinct and len(distinct) == 2:
            return f"Optional[{next(choice for choice in distinct if choice != 'None')}]"
        return distinct[0] if len(distinct) == 1 else f"Union[{', '.join(distinct)}]"
    return PLAIN[head]


def spell_value(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else repr(value)


def name_of(text):
    """A name for Python: `last_event_id` for Last-Event-ID."""
    name = "_".join(document.words(text))
    return name + "_" if keyword.iskeyword(name) else name


def comment(text, indent):
    return textwrap.wrap(text, WIDTH - indent, initial_indent=" " * indent + "# ", subsequent_indent=" " * indent + "# ",
                         break_long_words=False, break_on_hyphens=False) if text else []


def docstring(text, indent):
    pad = " " * indent
    text = text.replace("\\", "\\\\")
    if len(text) + indent + 6 <= WIDTH:
        return [f'{pad}"""{text}"""']
    return [f'{pad}"""', *textwrap.wrap(text, WIDTH - indent, initial_indent=pad, subsequent_indent=pad), f'{pad}"""']


def wrapped(line, indent):
    """A long line of choices on several, inside its brackets."""
    if len(line) <= WIDTH:
        return [line]
    head, _, rest = line.partition("[")
    inner, tail = rest.rsplit("]", 1)
    pad = " " * (indent + 4)
    return [head + "[", *textwrap.wrap(inner + ",", WIDTH, initial_indent=pad, subsequent_indent=pad,
                                       break_long_words=False, break_on_hyphens=False), " " * indent + "]" + tail]


def listed(parts, indent):
    """Parts with commas between them, on as many lines as they need; none is torn apart."""
    lines, pad = [], " " * indent
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= WIDTH:
            lines[-1] += f" {part},"
        else:
            lines.append(f"{pad}{part},")
    return lines


def object_lines(made):
    required = [field for field in made.fields if field.required]
    optional = [field for field in made.fields if not field.required]
    words = [field.name for field in made.fields]
    if any(keyword.iskeyword(word) or not word.isidentifier() for word in words):
        return spelled_out(made, required, optional)
    lines, base, total = [], "TypedDict", ""
    if required and optional:
        lines += [f"class _{made.name}Required(TypedDict):", *field_lines(required), "", ""]
        base, total = f"_{made.name}Required", ", total=False"
    elif optional:
        total = ", total=False"
    rest = optional if required and optional else made.fields
    lines.append(f"class {made.name}({base}{total}):")
    if made.description:
        lines += [*docstring(made.description, 4), ""]
    return lines + field_lines(rest)


def field_lines(fields):
    lines = []
    for field in fields:
        lines += comment(field.description, 4)
        lines += wrapped(f"    {field.name}: {spell(field.type)}", 4)
    return lines


def spelled_out(made, required, optional):
    """For names that Python keeps for itself, such as `from`."""
    lines, bases = [], []
    for part, fields, total in (("Required", required, ""), ("Optional", optional, ", total=False")):
        if not fields:
            continue
        bases.append(f"_{made.name}{part}")
        lines.append(f'{bases[-1]} = TypedDict("{bases[-1]}", {{')
        for field in fields:
            lines += comment(field.description, 4)
            lines.append(f'    "{field.name}": {spell(field.type, quote=True)},')
        lines += [f"}}{total})", "", ""]
    lines.append(f"class {made.name}({', '.join(bases)}):")
    return lines + docstring(made.description or "Some of its fields have names that Python keeps for itself.", 4)


def models(api):
    lines = ['"""What the API takes and tells, as dictionaries with known fields. More fields may come; ignore them."""', "",
             "from __future__ import annotations", "",
             "from typing import Any, Dict, List, Literal, Optional, TypedDict, Union", ""]
    late = []
    for alias in api.aliases.values():
        if alias.type[0] != "literal":
            late.append(alias)
            continue
        lines += ["", *comment(alias.description, 0), *wrapped(f"{alias.name} = {spell(alias.type)}", 0)]
    for made in api.objects.values():
        lines += ["", "", *object_lines(made)]
    lines += ["", ""]
    for alias in in_order(late):
        quote = alias.type[0] != "name"
        lines += [*comment(alias.description, 0), *wrapped(f"{alias.name} = {spell(alias.type, quote)}", 0)]
    return NOTICE + "\n".join(lines) + "\n"


def in_order(aliases):
    """Those that are another name of an alias, behind it."""
    waiting, done = {alias.name: alias for alias in aliases}, []
    while waiting:
        free = [alias for alias in waiting.values() if alias.type[0] != "name" or alias.type[1] not in waiting]
        for alias in free:
            done.append(alias)
            del waiting[alias.name]
    return done


def table(api):
    lines = ['"""Method and path of each operation."""', "", "from __future__ import annotations", "",
             "from typing import Dict", "", "from ._operation import Operation", "",
             "OPERATIONS: Dict[str, Operation] = {"]
    for operation in api.operations:
        lines.append(f'    "{operation.id}": Operation("{operation.id}", "{operation.method}", "{operation.path}"),')
    return NOTICE + "\n".join([*lines, "}"]) + "\n"


def argument(parameter):
    kind = spell(parameter.type)
    if parameter.required:
        return f"{name_of(parameter.name)}: {kind}"
    return f"{name_of(parameter.name)}: {kind if kind.startswith('Optional') else f'Optional[{kind}]'} = None"


def group(place, parameters):
    """An argument that holds the parameters of a place, as parts that may stand on lines of their own."""
    parts = [f'"{parameter.name}": {name_of(parameter.name)}' for parameter in parameters]
    parts[0] = f"{place}={{{parts[0]}"
    parts[-1] += "}"
    return parts


def method_lines(operation):
    places = {place: [p for p in operation.parameters if p.place == place] for place in ("path", "query", "header")}
    arguments = ["self", *map(argument, places["path"])]
    handed = [f'OPERATIONS["{operation.id}"]']
    if places["path"]:
        handed += group("path", places["path"])
    if operation.body:
        kind = spell(operation.body_type) if operation.body == "json" else "Source"
        arguments.append(f"body: {kind}" if operation.body_required else f"body: Optional[{kind}] = None")
        handed.append("body=body")
    arguments.append("*")
    optional = places["query"] + places["header"]
    arguments += map(argument, [p for p in optional if p.required] + [p for p in optional if not p.required])
    for place in ("query", "header"):
        if places[place]:
            handed += group(place, places[place])
    arguments.append("timeout: Optional[float] = None")
    handed.append("timeout=timeout")
    answer = {"json": spell(operation.answer_type), "bytes": "Response", "nothing": "None"}[operation.answer]
    pad = " " * 8
    lines = [f"    async def {name_of(operation.id)}("]
    lines += listed(arguments, 8)
    lines += [f"    ) -> {answer}:", *docstring(operation.summary, 8)]
    verb = "open" if operation.answer == "bytes" else "call"
    asked = f"await self._transport.{verb}("
    inner = listed(handed, 12)
    if operation.answer == "json":
        return [*lines, f"{pad}answer: {answer} = {asked}", *inner, f"{pad})", f"{pad}return answer"]
    if operation.answer == "bytes":
        return [*lines, f"{pad}return {asked}", *inner, f"{pad})"]
    return [*lines, f"{pad}{asked}", *inner, f"{pad})"]


def operations(api):
    asked = [operation for operation in api.operations if operation.answer != "socket"]
    used = sorted({spell(kind) for operation in asked
                   for kind, there in ((operation.body_type, operation.body == "json"),
                                       (operation.answer_type, operation.answer == "json")) if there}
                  | set(names_in(parameter.type for operation in asked for parameter in operation.parameters)))
    lines = ['"""A method for each operation of the API that is a question and an answer."""', "",
             "from __future__ import annotations", "", "from typing import List, Literal, Optional", "",
             "from .._table import OPERATIONS",
             "from ..models import (", *[f"    {name}," for name in used], ")",
             "from ._transport import Response, Source, Transport", "", "",
             "class Operations:",
             '    """The API itself. What is not given is not sent, and the daemon\'s own default holds."""', "",
             "    def __init__(self, transport: Transport) -> None:", "        self._transport = transport"]
    for operation in asked:
        lines += ["", *method_lines(operation)]
    return NOTICE + "\n".join(lines) + "\n"


def names_in(kinds):
    for kind in kinds:
        if kind[0] == "name":
            yield kind[1]
        elif kind[0] in ("list", "map"):
            yield from names_in([kind[1]])
        elif kind[0] == "union":
            yield from names_in(kind[1])
