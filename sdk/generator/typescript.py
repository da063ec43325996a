"""The generated modules in TypeScript: types, and the operations with the types of what they take and answer."""

import json
import textwrap

from . import document

NOTICE = "// Generated from docs/openapi.yaml by sdk/generate.py. Change those.\n"
WIDTH = 100
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null", "any": "unknown"}


def spell(kind):
    head = kind[0]
    if head == "name":
        return kind[1]
    if head == "literal":
        return " | ".join(json.dumps(value) for value in kind[1])
    if head == "list":
        inner = spell(kind[1])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if head == "map":
        return f"Record<string, {spell(kind[1])}>"
    if head == "union":
        return " | ".join(dict.fromkeys(spell(choice) for choice in kind[1]))
    return PLAIN[head]


def comment(text, indent):
    pad = " " * indent
    if not text:
        return []
    text = text.replace("*/", "* /")
    if len(text) + indent + 7 <= WIDTH:
        return [f"{pad}/** {text} */"]
    return [f"{pad}/**", *textwrap.wrap(text, WIDTH, initial_indent=pad + " * ", subsequent_indent=pad + " * ",
                                        break_long_words=False, break_on_hyphens=False), f"{pad} */"]


def key(name):
    return name if name.isidentifier() else json.dumps(name)


def choices(head, kind):
    """`head` and a type; one choice on a line where they are many."""
    line = f"{head}{spell(kind)};"
    if len(line) <= WIDTH or kind[0] not in ("literal", "union"):
        return [line]
    parts = [json.dumps(value) for value in kind[1]] if kind[0] == "literal" else [spell(choice) for choice in kind[1]]
    indent = " " * (len(head) - len(head.lstrip()) + 2)
    return [head.rstrip(), *[f"{indent}| {part}" for part in parts[:-1]], f"{indent}| {parts[-1]};"]


def models(api):
    lines = ["// What the API takes and tells. More fields may come; ignore them."]
    for alias in api.aliases.values():
        lines += ["", *comment(alias.description, 0), *choices(f"export type {alias.name} = ", alias.type)]
    for made in api.objects.values():
        lines += ["", *comment(made.description, 0), f"export interface {made.name} {{"]
        for field in made.fields:
            lines += comment(field.description, 2)
            lines += choices(f"  {key(field.name)}{'' if field.required else '?'}: ", field.type)
        lines.append("}")
    return NOTICE + "\n".join(lines) + "\n"


def names_in(kind):
    if kind[0] == "name":
        return {kind[1]}
    if kind[0] in ("list", "map"):
        return names_in(kind[1])
    if kind[0] == "union":
        return set().union(*map(names_in, kind[1]))
    return set()


def group(parameters):
    if not parameters:
        return "{}"
    inner = "; ".join(f"{key(p.name)}{'' if p.required else '?'}: {spell(p.type)}" for p in parameters)
    return "{ " + inner + " }"


def operations(api):
    used, typed, table = set(), [], []
    for operation in api.operations:
        for kind in (operation.body_type, operation.answer_type, *(p.type for p in operation.parameters)):
            used |= names_in(kind)
        places = {place: [p for p in operation.parameters if p.place == place] for place in ("path", "query", "header")}
        body = {"json": spell(operation.body_type), "bytes": "Source", "": "undefined"}[operation.body]
        answer = {"json": spell(operation.answer_type), "bytes": "Uint8Array"}.get(operation.answer, "undefined")
        typed += [*comment(operation.summary, 2), f"  {operation.id}: {{"]
        for place, parameters in places.items():
            line = f"    {place}: {group(parameters)};"
            if len(line) > WIDTH:
                inner = [f"      {key(p.name)}{'' if p.required else '?'}: {spell(p.type)};" for p in parameters]
                typed += [f"    {place}: {{", *inner, "    };"]
            else:
                typed.append(line)
        if operation.body and not operation.body_required:
            body += " | undefined"
        typed += [f"    body: {body};", f"    answer: {answer};", "  };"]
        table.append(f'  {operation.id}: {{ method: "{operation.method}", path: "{operation.path}", answer: "{operation.answer}" }},')
    lines = ["// The operations of the API: the types of what they take and answer, their methods and paths.",
             "import type {", *[f"  {name}," for name in sorted(used)], '} from "./models.js";',
             'import type { Source } from "./http.js";', "", "export interface Operations {", *typed, "}", "",
             "/** What comes back: JSON, bytes, nothing, or a connection that is no longer HTTP. */",
             'export type AnswerKind = "json" | "bytes" | "nothing" | "socket";', "",
             "export const operations: Record<keyof Operations, { method: string; path: string; answer: AnswerKind }> = {",
             *table, "};"]
    return NOTICE + "\n".join(lines) + "\n"
