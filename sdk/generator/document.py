"""An OpenAPI 3.1 document as the generators want it: named types, and operations whose parts are resolved.

A type is one of the tuples that the functions below make:

    ("name", "Sandbox")   ("literal", [values])   ("list", type)   ("map", type)   ("union", [types])   ("any",)
    ("string",) ("integer",) ("number",) ("boolean",) ("null",)

An object with properties is always a named one. Those that the document does not name are named after the operation and the
property that they belong to.
"""

import dataclasses
import re

JSON = "application/json"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


@dataclasses.dataclass
class Field:
    name: str
    type: tuple
    required: bool
    description: str


@dataclasses.dataclass
class Object:
    name: str
    description: str
    fields: list


@dataclasses.dataclass
class Alias:
    name: str
    description: str
    type: tuple


@dataclasses.dataclass
class Parameter:
    name: str
    place: str  # path, query or header
    type: tuple
    required: bool
    description: str


@dataclasses.dataclass
class Operation:
    id: str
    method: str
    path: str
    summary: str
    parameters: list
    body: str  # "json", "bytes" or "" for none
    body_type: tuple
    body_required: bool
    answer: str  # "json", "bytes", "nothing", or "socket" for a connection that becomes another one
    answer_type: tuple


@dataclasses.dataclass
class Api:
    objects: dict
    aliases: dict
    operations: list


def words(name):
    """listSandboxes, Last-Event-ID and next_cursor in their parts, small."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)]


def title(name):
    return "".join(word[0].upper() + word[1:] for word in words(name))


def plain(text):
    return " ".join((text or "").split())


class Reader:
    def __init__(self, text):
        self.text = text
        self.api = Api({}, {}, [])

    def resolve(self, part):
        while isinstance(part, dict) and "$ref" in part:
            found = self.text
            for step in part["$ref"].removeprefix("#/").split("/"):
                found = found[step.replace("~1", "/").replace("~0", "~")]
            part = found
        return part

    # Types.

    def type_of(self, schema, name):
        """The type of a schema; `name` is what an object would be called that has no name."""
        if schema is True or not schema:
            return ("any",)
        if "$ref" in schema:
            return self.reference(schema["$ref"])
        if "const" in schema:
            return ("literal", [schema["const"]])
        if "enum" in schema:
            return ("literal", list(schema["enum"]))
        if "allOf" in schema:
            return self.object_of(schema, name)
        choices = schema.get("oneOf") or schema.get("anyOf")
        if choices and "properties" not in schema:
            return ("union", [self.type_of(choice, self.choice_name(choice, name, at)) for at, choice in enumerate(choices)])
        kinds = schema.get("type", "object" if "properties" in schema else None)
        if kinds is None:
            return ("any",)
        if isinstance(kinds, list):
            return ("union", [self.type_of({**schema, "type": kind}, name) for kind in kinds])
        if kinds == "array":
            return ("list", self.type_of(schema.get("items", True), name + "Item"))
        if kinds == "object":
            if schema.get("properties"):
                return self.object_of(schema, name)
            return ("map", self.type_of(schema.get("additionalProperties") or True, name + "Value"))
        return (kinds,)

    def reference(self, ref):
        prefix = "#/components/schemas/"
        if not ref.startswith(prefix):
            raise ValueError(f"{ref}: only schemas of the components can be named")
        return ("name", title_of_component(ref.removeprefix(prefix)))

    def choice_name(self, choice, name, at):
        """After the constant that tells a choice from the others, or its place."""
        for part in [choice, *choice.get("allOf", [])]:
            for field in self.resolve(part).get("properties", {}).values():
                if "const" in field:
                    return name + title(str(field["const"]))
                if "enum" in field:
                    return name + "".join(title(str(value)) for value in field["enum"])
        return f"{name}{at + 1}"

    def parts_of(self, schema):
        """(properties, required) of an object and everything that it is all of."""
        schema = self.resolve(schema)
        properties, required = {}, set()
        for part in schema.get("allOf", []):
            more, needed = self.parts_of(part)
            properties.update(more)
            required |= needed
        properties.update(schema.get("properties", {}))
        return properties, required | set(schema.get("required", []))

    def object_of(self, schema, name):
        properties, required = self.parts_of(schema)
        if name in self.api.objects or name in self.api.aliases:
            raise ValueError(f"{name}: two types would have this name")
        made = self.api.objects[name] = Object(name, plain(schema.get("description")), [])
        for field, inner in properties.items():
            description = inner.get("description", "") if isinstance(inner, dict) else ""
            made.fields.append(Field(field, self.type_of(inner, name + title(field)), field in required, plain(description)))
        return ("name", name)

    def name_it(self, name, schema):
        """Makes `name` stand for the schema, whether the document has another name for that or none."""
        if schema.get("$ref", "").rpartition("/")[2] == name:
            return ("name", name)
        kind = self.type_of(schema, name)
        if kind != ("name", name):
            if name in self.api.objects or name in self.api.aliases:
                raise ValueError(f"{name}: two types would have this name")
            self.api.aliases[name] = Alias(name, plain(schema.get("description")), kind)
        return ("name", name)

    # Operations.

    def operation(self, path, method, shared, text):
        made = title(text["operationId"])
        parameters = {}
        for parameter in map(self.resolve, [*shared, *text.get("parameters", [])]):
            kind = self.type_of(parameter.get("schema", True), made + title(parameter["name"]))
            parameters[parameter["in"], parameter["name"]] = Parameter(
                parameter["name"], parameter["in"], kind, parameter.get("required", False), plain(parameter.get("description")))
        body, body_type = "", ("null",)
        request = self.resolve(text.get("requestBody", {}))
        content = request.get("content", {})
        if JSON in content:
            body, body_type = "json", self.name_it(made + "Body", content[JSON].get("schema", {}))
        elif content:
            body = "bytes"
        answer, answer_type = self.answer(made, text["responses"])
        return Operation(text["operationId"], method.upper(), path, plain(text.get("summary")), list(parameters.values()),
                         body, body_type, request.get("required", False), answer, answer_type)

    def answer(self, made, responses):
        good = {str(status): self.resolve(answer) for status, answer in responses.items() if str(status)[0] in "12"}
        if "101" in good:
            return "socket", ("null",)
        whole = [answer["content"][JSON].get("schema", {}) for answer in good.values() if JSON in answer.get("content", {})]
        if whole:
            distinct = [schema for at, schema in enumerate(whole) if schema not in whole[:at]]
            if len(distinct) == 1:
                return "json", self.name_it(made + "Answer", distinct[0])
            return "json", self.name_it(made + "Answer", {"oneOf": distinct})
        if any(answer.get("content") for answer in good.values()):
            return "bytes", ("null",)
        return "nothing", ("null",)

    def read(self):
        for name, schema in self.text["components"]["schemas"].items():
            self.name_it(title_of_component(name), schema)
        for path, item in self.text["paths"].items():
            item = self.resolve(item)
            for method in METHODS:
                if method in item:
                    self.api.operations.append(self.operation(path, method, item.get("parameters", []), item[method]))
        return self.api


def title_of_component(name):
    return re.sub(r"[^A-Za-z0-9]", "", name[0].upper() + name[1:])


def read(text):
    return Reader(text).read()
