// `await using` needs this symbol, which older versions of Node 18 do not have.
if (!(Symbol as { asyncDispose?: symbol }).asyncDispose) {
  Object.defineProperty(Symbol, "asyncDispose", { value: Symbol("Symbol.asyncDispose") });
}

export {};
