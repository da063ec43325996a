"""The client without asyncio, made from the one with it: the same code, but for the words of asyncio."""

import io
import tokenize

NOTICE = "# Generated from aio/{} by sdk/generate.py. Change that.\n"

# Modules of aio/ that know of asyncio only its words. The others have a twin that is written by hand.
TWINS = ("_http.py", "_transport.py", "_operations.py", "_client.py", "_sandbox.py", "_files.py", "_commands.py",
         "_ports.py", "_terminal.py")

GONE = {"async", "await"}
NAMES = {
    "__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__", "__anext__": "__next__",
    "aclose": "close", "AsyncIterator": "Iterator", "AsyncIterable": "Iterable", "StopAsyncIteration": "StopIteration",
}


def twin(source, name):
    out, line, column = [], 1, 0
    skip_blank = False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.start[0] > line:
            line, column = token.start[0], 0
        gap = token.line[column:token.start[1]] if token.type not in (tokenize.NEWLINE, tokenize.NL) else ""
        if token.type in (tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            continue
        out.append("" if skip_blank else gap)
        skip_blank = False
        if token.type == tokenize.NAME and token.string in GONE:
            skip_blank = True
        else:
            out.append(NAMES.get(token.string, token.string) if token.type == tokenize.NAME else token.string)
        line, column = token.end
    return NOTICE.format(name) + "".join(out)
