// TypeScript cells for context.js: types are removed, not checked, as `tsc` does it for one file at a
// time; JavaScript's own errors come with the lines of the TypeScript.
//
// By the compiler if there is one: of the packages of the sandbox, or Debian's node-typescript; else
// by Node.js itself, from version 22.13 on.
'use strict';
const Module = require('module');
const path = require('path');

const PLACES = ['/usr/share/nodejs/typescript', '/usr/local/lib/node_modules/typescript',
                '/usr/lib/node_modules/typescript'];
const MOST_MAPS = 200;
const END = /(?:^|\n)export \{\};?\s*(?=(?:\n?\/\/# sourceMappingURL=.*)?\s*$)/;

const maps = new Map();  // by the name of the cell

// A function from a cell's code and name to JavaScript; throws an Error that says what is missing.
function translator(directory) {
  const compiler = findCompiler(directory);
  if (compiler !== null) return (code, name) => byCompiler(compiler, code, name);
  if (typeof Module.stripTypeScriptTypes === 'function') return byNode;
  throw new Error('TypeScript is not installed: it needs the Debian package node-typescript on the ' +
                  'host, or the npm package typescript in the sandbox');
}

function findCompiler(directory) {
  const own = Module.createRequire(path.join(directory, 'cell'));
  const installed = PLACES.map((place) => () => require(place));
  // Root runs no compiler that the user may have put there, if there is another one.
  const loads = process.geteuid() === 0 ? [...installed, () => own('typescript')] : [() => own('typescript'), ...installed];
  for (const load of loads) {
    try {
      const found = load();
      if (typeof found.transpileModule === 'function') return found;
    } catch {
      // The next one.
    }
  }
  return null;
}

function byCompiler(compiler, code, name) {
  const isNew = parseInt(compiler.version, 10) >= 5;
  // Every cell is a module, so that it may await; and imports stay, for the cells that follow.
  const made = compiler.transpileModule(`${code}\nexport {};`, {
    fileName: 'cell.ts',
    reportDiagnostics: true,
    compilerOptions: {
      target: compiler.ScriptTarget.ES2022 ?? compiler.ScriptTarget.ESNext,
      module: compiler.ModuleKind.ESNext,
      newLine: compiler.NewLineKind.LineFeed,
      isolatedModules: true,
      sourceMap: true,
      experimentalDecorators: true,
      ...(isNew ? { verbatimModuleSyntax: true } : { preserveValueImports: true }),
    },
  });
  const wrong = made.diagnostics.find((one) => one.file !== undefined && one.start !== undefined);
  if (wrong !== undefined) {
    const { line, character } = wrong.file.getLineAndCharacterOfPosition(wrong.start);
    throw syntaxError(compiler.flattenDiagnosticMessageText(wrong.messageText, '\n'), name, line + 1,
                      character + 1);
  }
  remember(name, made.sourceMapText);
  return made.outputText.replace(END, '').replace(/(?:^|\n)\/\/# sourceMappingURL=.*\s*$/, '');
}

function byNode(code, name) {
  const { emitWarning } = process;
  process.emitWarning = () => {};  // it is called experimental, which is our choice
  try {
    return Module.stripTypeScriptTypes(code, { mode: 'transform' });
  } catch (error) {
    throw syntaxError(error.message, name, null, null);
  } finally {
    process.emitWarning = emitWarning;
  }
}

function syntaxError(message, name, line, column) {
  const error = new SyntaxError(message);
  error.stack = `SyntaxError: ${message}${line === null ? '' : `\n    at ${name}:${line}:${column}`}`;
  return error;
}

function remember(name, map) {
  if (map === undefined) return;
  maps.delete(name);
  maps.set(name, new Module.SourceMap(JSON.parse(map)));
  if (maps.size > MOST_MAPS) maps.delete(maps.keys().next().value);
}

// The line of the TypeScript for a line of the JavaScript, both from 1.
function originalLine(name, line) {
  return original(name, line, 1)?.line ?? line;
}

function original(name, line, column) {
  const found = maps.get(name)?.findEntry(line - 1, column - 1);
  if (found?.originalLine === undefined) return null;
  return { line: found.originalLine + 1, column: found.originalColumn + 1 };
}

// "cell-1:3:5" as the TypeScript has it, wherever it is in a stack.
function originalPlaces(stack) {
  return stack.replace(/([^\s()]+):(\d+):(\d+)/g, (whole, name, line, column) => {
    const place = original(name, Number(line), Number(column));
    return place === null ? whole : `${name}:${place.line}:${place.column}`;
  });
}

module.exports = { originalLine, originalPlaces, translator };
