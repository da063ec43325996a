#!/usr/bin/env python3
"""Tests of check_coroutines.py on one function at a time."""

import unittest

from check_coroutines import check_text


def in_body(statement):
    return f"Task<> f() {{\n  int before = 1;\n  {statement}\n}}\n"


class WhereAwaitMayStand(unittest.TestCase):
    def test_these_forms_are_right(self):
        for statement in (
            "co_await g();",
            "auto x = co_await g(a, std::move(b));",
            "const Foo<int, long> x = co_await ns::g<T>(a).h();",
            "auto [a, b] = co_await g();",
            "x = co_await g();",
            "box->state[i] = co_await g();",
            "co_return co_await g();",
            "CO_TRY(auto x, co_await g());",
            "CO_TRY(auto x, co_await g(a, b[1], {1, 2}));",
            "CO_TRY_OK(co_await g());",
            "if (x) co_await g();",
            "if (x) { y(); } else co_await g();",
            "for (auto& c : all) co_await c.g();",
            "while (more()) { co_await g(); }",
            "switch (x) { case A::b: co_await g(); break; default: co_await h(); }",
            "try { co_await g(); } catch (const E& e) { h(); }",
            "std::ignore = co_await g();",
            "(void)co_await g();",
            "auto l = []() -> Task<std::map<int, int>> { co_await g(); };",
            "auto l = []() -> Task<> { auto x = co_await g(); co_return x; };",
            "auto x = co_await (read() || wait());",
            'auto x = co_await g("co_await ( in a string");',
            "// if (co_await g()) is only a comment\n",
            "do { h(); } while (x); co_await g();",
            "Foo x{1, 2}; co_await g();",
        ):
            self.assertEqual(check_text(in_body(statement)), [], statement)

    def test_these_forms_are_wrong(self):
        for statement in (
            "h(co_await g());",
            "if (co_await g()) h();",
            "if (auto x = co_await g(); x) h();",
            "while (co_await g()) {}",
            "for (auto x : co_await g()) h();",
            "auto x = c ? co_await g() : h();",
            "auto x = co_await g() ? 1 : 2;",
            "auto x = co_await g() + 1;",
            "auto x = 1 + co_await g();",
            "x += co_await g();",
            "auto x = !co_await g();",
            "auto x = (co_await g()).value();",
            "Foo x{co_await g()};",
            "auto x = Foo{.a = co_await g()};",
            "h({1, co_await g()});",
            "auto x = *co_await g();",
            "auto y = x = co_await g();",
            "return co_await g();",
            "TRY(auto x, co_await g());",
            "CO_TRY(auto x, h(co_await g()));",
            "CO_TRY_OK(!co_await g());",
            "EXPECT_TRUE(co_await g());",
            "x[co_await g()] = 1;",
            "a() && co_await g();",
        ):
            problems = check_text(in_body(statement))
            self.assertEqual(len(problems), 1, f"{statement}: {problems}")
            self.assertTrue(problems[0].startswith("file.cc:3: "), problems[0])

    def test_the_line_is_that_of_the_await(self):
        text = 'auto s = R"(\n\n)";\n/* a\nb */ Task<> f() {\n  h(1,\n    co_await g());\n}\n'

        self.assertEqual([p.split(": ")[0] for p in check_text(text)], ["file.cc:7"])


class Lambdas(unittest.TestCase):
    def test_one_with_captures_is_no_coroutine(self):
        for body in ("co_await g();", "co_return;", "CO_TRY_OK(x());"):
            for capture in ("[this]", "[&]", "[x = 1]"):
                problems = check_text(f"void f() {{ run({capture}() -> Task<> {{ {body} }}); }}")
                self.assertTrue(any("lambda with captures" in p for p in problems), (capture, body))

    def test_one_without_captures_may_be(self):
        self.assertEqual(check_text("void f() { run([](int a) -> Task<> { co_await g(a); }(1)); }"), [])

    def test_one_with_captures_may_make_tasks_without_being_one(self):
        self.assertEqual(check_text("void f() { run([this] { return g(); }); }"), [])
        self.assertEqual(check_text("void f() { run([this] { return [](X x) -> Task<> { co_await x; }(y); }); }"), [])

    def test_a_test_may_capture(self):
        text = "void f() { run([&]() -> Task<> { co_await g(); }); }"

        self.assertEqual(check_text(text, in_test=True), [])

    def test_subscripts_and_attributes_are_no_lambdas(self):
        self.assertEqual(check_text("[[nodiscard]] Task<> f() { a[i] = 1; co_await b[i](x); }"), [])


class Parameters(unittest.TestCase):
    def test_borrowed_bytes_are_wrong(self):
        for parameter in ("std::string_view s", "std::span<const char> s", "int a, std::optional<std::string_view> s"):
            for returns in ("Task<>", "Task<std::vector<int>>", "asio::awaitable<void>"):
                self.assertEqual(len(check_text(f"{returns} f({parameter});")), 1, (returns, parameter))

    def test_references_to_values_are_wrong(self):
        for parameter in ("const std::string& s", "int a, const std::vector<int>& v", "std::string&& s", "Spec&& s"):
            self.assertEqual(len(check_text(f"Task<> f({parameter});")), 1, parameter)

    def test_values_and_handles_are_right(self):
        self.assertEqual(check_text("Task<> f(std::string s, Sandbox& box, int n, const Clock& clock);"), [])
        self.assertEqual(check_text("Task<> f(const std::string s, std::map<int, const std::string*> m, Foo& x);"), [])

    def test_a_callback_may_take_them(self):
        self.assertEqual(check_text("Task<> f(std::function<void(std::string_view)> on_bytes);"), [])

    def test_the_mark_allows_them(self):
        self.assertEqual(check_text("// Reads. awaited at once\nTask<> f(std::string_view s);"), [])
        self.assertEqual(check_text("// Reads; awaited at once.\n// And more.\nTask<> f(std::string_view s);"), [])
        self.assertEqual(check_text("Task<> f(std::string_view s);  // awaited at once"), [])
        self.assertEqual(check_text("Task<> f(int a,\n  std::string_view s) {  // awaited at once\n}"), [])

    def test_a_mark_on_another_declaration_does_not_count(self):
        marked = "Task<> f(std::string_view s);  // awaited at once\n"

        self.assertEqual(len(check_text(marked + "Task<> g(std::string_view s);")), 1)

    def test_the_declaration_decides_for_definition_and_override(self):
        self.assertEqual(check_text("Task<> Foo::f(std::string_view s) { co_return; }"), [])
        self.assertEqual(check_text("Task<> f(std::string_view s) override;"), [])
        self.assertEqual(check_text("Task<> f(std::string_view s) const override { co_return; }"), [])

    def test_a_plain_function_may_take_them(self):
        self.assertEqual(check_text("Result<> f(std::string_view s); using F = Task<>;"), [])

    def test_a_lambda_coroutine_may_not(self):
        self.assertEqual(len(check_text("auto l = [](std::string_view s) -> Task<> { co_return; };")), 1)


if __name__ == "__main__":
    unittest.main()
