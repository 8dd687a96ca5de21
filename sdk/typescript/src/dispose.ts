// `await using`, where the language has it; the symbol itself is newer than some browsers.

/// <reference lib="esnext.disposable" preserve="true" />

export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for("Symbol.asyncDispose") as typeof Symbol.asyncDispose);
