"""The generator: what it writes is what lies in the tree, and it reads OpenAPI 3.1 as that is meant."""

import ast
import importlib
import subprocess
import sys
import types
import unittest

from installed import ROOT, SDK

sys.path.insert(0, str(SDK))
from generator import blocking, document, python, typescript  # noqa: E402


def api_of(schemas, paths=None):
    return document.read({"openapi": "3.1.0", "paths": paths or {}, "components": {"schemas": schemas}})


def module_of(text):
    made = types.ModuleType("generated")
    sys.modules["generated"] = made
    exec(compile(text, "generated", "exec"), made.__dict__)
    return made


class Generated(unittest.TestCase):
    def test_the_tree_has_what_would_be_written(self):
        done = subprocess.run(["/usr/bin/python3", "-B", SDK / "generate.py", "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_stale_file_is_noticed(self):
        generate = importlib.import_module("generate")
        text = generate.OPENAPI.read_text()
        files = generate.generated(text)
        changed = generate.generated(text.replace("operationId: version\n", "operationId: whichVersion\n"))
        self.assertNotEqual(text, text.replace("operationId: version\n", "operationId: whichVersion\n"))
        stale = {name for name in files if files[name] != changed[name]}
        self.assertEqual({name.rpartition("/")[2] for name in stale},
                         {"models.py", "_table.py", "_operations.py", "models.ts", "operations.ts"})

    def test_it_says_the_same_every_time(self):
        generate = importlib.import_module("generate")
        text = generate.OPENAPI.read_text()
        self.assertEqual(generate.generated(text), generate.generated(text))

    def test_every_operation_is_there(self):
        text = (ROOT / "docs/openapi.yaml").read_text()
        import yaml
        asked = {operation["operationId"] for item in yaml.safe_load(text)["paths"].values()
                 for method, operation in item.items() if method in document.METHODS}
        table = (SDK / "python/src/atoll/_table.py").read_text()
        typed = (SDK / "typescript/src/operations.ts").read_text()
        self.assertGreater(len(asked), 50)
        for name in asked:
            self.assertIn(f'"{name}": Operation(', table)
            self.assertIn(f"  {name}: {{ method: ", typed)


class Types(unittest.TestCase):
    def spelled(self, schema):
        api = api_of({"Thing": {"type": "object", "properties": {"it": schema}}, "Other": {"type": "string", "enum": ["a"]}})
        kind = api.objects["Thing"].fields[0].type
        return python.spell(kind), typescript.spell(kind)

    def test_plain_ones(self):
        self.assertEqual(self.spelled({"type": "integer"}), ("int", "number"))
        self.assertEqual(self.spelled({"type": ["string", "null"]}), ("Optional[str]", "string | null"))
        self.assertEqual(self.spelled({"type": ["string", "number", "boolean"]}),
                         ("Union[str, float, bool]", "string | number | boolean"))
        self.assertEqual(self.spelled({"const": "v1"}), ('Literal["v1"]', '"v1"'))
        self.assertEqual(self.spelled({"enum": ["a", "b"]}), ('Literal["a", "b"]', '"a" | "b"'))
        self.assertEqual(self.spelled({"type": "array", "items": {"enum": ["a", "b"]}}),
                         ('List[Literal["a", "b"]]', '("a" | "b")[]'))
        self.assertEqual(self.spelled({"type": "object", "additionalProperties": {"type": "string"}}),
                         ("Dict[str, str]", "Record<string, string>"))
        self.assertEqual(self.spelled({"$ref": "#/components/schemas/Other", "description": "x"}), ("Other", "Other"))
        self.assertEqual(self.spelled({"anyOf": [{"type": "integer"}, {"type": "null"}]}), ("Optional[int]", "number | null"))
        self.assertEqual(self.spelled({}), ("Any", "unknown"))

    def test_all_of_is_one_object_with_everything(self):
        api = api_of({"Base": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
                      "More": {"allOf": [{"$ref": "#/components/schemas/Base"},
                                         {"type": "object", "required": ["b"], "properties": {"b": {"type": "integer"}}}]}})
        self.assertEqual([(field.name, field.required) for field in api.objects["More"].fields], [("a", True), ("b", True)])

    def test_one_of_requirements_is_no_choice_of_types(self):
        api = api_of({"Exec": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                               "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}})
        self.assertEqual([field.required for field in api.objects["Exec"].fields], [False, False])

    def test_choices_are_named_after_what_tells_them_apart(self):
        choice = {"oneOf": [{"type": "object", "required": ["type"], "properties": {"type": {"const": "start"}}},
                            {"type": "object", "properties": {"type": {"enum": ["out", "err"]}}}]}
        api = api_of({"Event": choice})
        self.assertEqual(set(api.objects), {"EventStart", "EventOutErr"})
        self.assertEqual(python.spell(api.aliases["Event"].type), "Union[EventStart, EventOutErr]")

    def test_words_that_python_keeps_are_fields_all_the_same(self):
        text = python.models(api_of({"Gap": {"type": "object", "required": ["from"], "description": "A gap.",
                                             "properties": {"from": {"type": "integer"}, "x-y": {"type": "string"}}}}))
        gap = module_of(text).Gap
        self.assertEqual(set(gap.__annotations__), {"from", "x-y"})
        self.assertEqual(gap.__required_keys__, {"from"})

    def test_an_answer_has_the_same_name_whether_the_document_names_it_or_not(self):
        def paths(schema):
            return {"/v1/x": {"get": {"operationId": "readX", "responses": {
                "200": {"content": {"application/json": {"schema": schema}}}}}}}
        shape = {"type": "object", "properties": {"a": {"type": "string"}}}
        inline = module_of(python.models(api_of({}, paths(shape))))
        named = module_of(python.models(api_of({"X": shape}, paths({"$ref": "#/components/schemas/X"}))))
        same = module_of(python.models(api_of({"ReadXAnswer": shape}, paths({"$ref": "#/components/schemas/ReadXAnswer"}))))
        for module in inline, named, same:
            self.assertEqual(set(module.ReadXAnswer.__annotations__), {"a"})

    def test_two_types_with_one_name_are_an_error(self):
        with self.assertRaisesRegex(ValueError, "two types"):
            api_of({"A": {"type": "object", "properties": {"bC": {"type": "object", "properties": {"x": {}}}}},
                    "ABC": {"type": "object", "properties": {"y": {}}}})

    def test_references_in_parameters_and_answers(self):
        api = document.read({
            "paths": {"/v1/{id}": {"parameters": [{"$ref": "#/components/parameters/id"}], "delete": {
                "operationId": "drop", "responses": {"204": {"$ref": "#/components/responses/Gone"}}}}},
            "components": {"schemas": {}, "responses": {"Gone": {"description": "x"}},
                           "parameters": {"id": {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}}}})
        operation, = api.operations
        self.assertEqual((operation.answer, [p.name for p in operation.parameters]), ("nothing", ["id"]))


class Blocking(unittest.TestCase):
    def test_only_the_words_of_asyncio_change(self):
        source = ('async def f(x):\n    """await nobody"""\n    # async too\n    async with await g(x) as y:\n'
                  "        return [z async for z in y.aclose()]\n")
        twin = blocking.twin(source, "f.py")
        self.assertEqual(twin.split("\n", 1)[1], 'def f(x):\n    """await nobody"""\n    # async too\n    with g(x) as y:\n'
                         "        return [z for z in y.close()]\n")
        ast.parse(twin)

    def test_no_twin_knows_asyncio(self):
        for path in (SDK / "python/src/atoll/_blocking").glob("*.py"):
            tree = ast.parse(path.read_text())
            kinds = {type(node) for node in ast.walk(tree)}
            self.assertFalse(kinds & {ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await}, path.name)
            names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
            self.assertNotIn("asyncio", names, path.name)


if __name__ == "__main__":
    unittest.main()
