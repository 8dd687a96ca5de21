// A code context in Node.js: cells come on a pipe, one after the other, and share the globals.
//
//   node context.js               cells and answers as in src/wire/guest/cell.h
//   node context.js typescript    the same, for cells in TypeScript
//
// A cell is evaluated in V8's own mode for consoles, reached through the inspector in this thread:
// const and let last and may be declared again, await works, and the last expression has a value.
// That happens inside a script that SIGINT breaks, so a loop without end can be stopped and what was
// there before stays. Between cells the event loop goes on: timers, servers and promises live.
'use strict';
const { encodeError, importsAsCalls, lines, parseJob, plainRemote, sendValue, send } =
    require('./run.js');
const { originalLine, originalPlaces, translator } = require('./typescript.js');
const fs = require('fs');
const inspector = require('inspector');
const Module = require('module');
const net = require('net');
const os = require('os');
const path = require('path');
const { Readable } = require('stream');
const { pathToFileURL } = require('url');
const util = require('util');
const vm = require('vm');

const CELLS_FD = 4;
const MOST_RECORD = 17 << 20;
const TAKE_NAME = 'glovebox.take';
const TAKE = Symbol.for(TAKE_NAME);
const RUN = Symbol.for('glovebox.run');
const INTERRUPTED = Symbol('interrupted');
// Taken now: code may change what these names mean.
const { writeSync } = fs;
const { inspect } = util;
const { isPromise, isNativeError } = util.types;

const session = new inspector.Session();
// Run inside this, evaluations end when SIGINT comes.
const breakable = new vm.Script(`globalThis[Symbol.for('glovebox.run')]()`, { filename: __filename });
let current = null;  // the cell that runs: what to call when it was interrupted
let queue = [];
let load = null;  // import() for the cells
let hidden = '';  // its name there
let toJavaScript = null;  // for TypeScript

function main() {
  session.connect();
  writeAtOnce(process.stdout, 1);
  writeAtOnce(process.stderr, 2);
  process.on('SIGINT', () => { current?.interrupt(); });
  process.on('uncaughtException', (error) => { printError(error); });
  process.on('exit', (code) => { send(`{"type":"exit","code":${Number(process.exitCode ?? code) & 0xff}}\n`); });
  readRecords((record) => {
    if (load === null) {
      enter(parseJob(record));
    } else {
      queue.push(record);
      if (queue.length === 1) serve();
    }
  });
}

function readRecords(take) {
  const pipe = new net.Socket({ fd: CELLS_FD, readable: true, writable: false });
  let parts = [];
  let size = 0;
  pipe.on('data', (part) => {
    parts.push(part);
    size += part.length;
    if (size < 4) return;
    let data = null;
    for (;;) {
      const head = data ?? (parts[0].length >= 4 ? parts[0] : (data = Buffer.concat(parts)));
      if (head.length < 4) break;
      const wanted = 4 + head.readUInt32LE(0);
      if (wanted > MOST_RECORD) process.exit(125);
      if (size < wanted) break;
      data ??= Buffer.concat(parts);
      const record = Buffer.from(data.subarray(4, wanted));
      data = data.subarray(wanted);
      size -= wanted;
      take(record);
    }
    if (data !== null) parts = data.length > 0 ? [data] : [];
  });
  pipe.on('end', () => process.exit(0));
  pipe.on('error', () => process.exit(0));
}

function enter(job) {
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const entry of job.env) {
    const equals = entry.indexOf('=');
    if (equals > 0) process.env[entry.slice(0, equals)] = entry.slice(equals + 1);
  }
  try {
    process.chdir(job.workdir);
  } catch (error) {
    refuse(`glovebox: cannot enter the working directory: ${error.code}`);
  }
  try {
    if (process.argv[2] === 'typescript') toJavaScript = translator(process.cwd());
  } catch (error) {
    refuse(error.message);
  }
  process.argv = [process.execPath, ...job.args];
  process.execArgv = [];
  const filename = path.join(process.cwd(), 'cell');
  for (const name of Object.keys(require.cache)) delete require.cache[name]; // ours
  const module = new Module('<context>', null);
  module.filename = filename;
  module.paths = Module._nodeModulePaths(process.cwd());
  const names = { require: Module.createRequire(filename), module, exports: module.exports };
  for (const [name, value] of Object.entries(names)) define(globalThis, name, value);
  const base = pathToFileURL(filename);
  // import() in such code has no file to start from, so it goes through us.
  hidden = `__import_${process.pid}_${Date.now()}`;
  load = (name) => import(/^\.{0,2}\//.test(name) ? new URL(name, base).href : name);
  Object.defineProperty(globalThis, hidden, { value: load });
  withoutStdin();
  send('{"type":"ready"}\n');
}

function refuse(message) {
  const why = new Error(message);
  why.stack = message;
  send(encodeError(why, ''));
  process.exit(1);
}

function define(on, name, value) {
  Object.defineProperty(on, name, { value, writable: true, configurable: true, enumerable: false });
}

function parseCell(record) {
  let at = 9;
  const bytes = () => {
    const size = record.readUInt32LE(at);
    at += 4 + size;
    if (at > record.length) throw new Error('glovebox: the cell ends too early');
    return record.subarray(at - size, at);
  };
  const number = record.readBigUInt64LE(0);
  const name = bytes().toString('utf8') || `<cell ${number}>`;
  const url = name.replace(/[\s"'`]/g, '_');  // what stacks call it can have no spaces
  const stdin = bytes();
  const code = bytes().toString('utf8');
  const env = [];
  if (record[8] & 2) {
    at += 4;
    for (let left = record.readUInt32LE(at - 4); left > 0; --left) env.push(bytes().toString('utf8'));
  }
  return { number, url, stdin: record[8] & 1 ? stdin : null, code, env, rich: (record[8] & 4) !== 0 };
}

async function serve() {
  while (queue.length > 0) {
    const cell = parseCell(queue[0]);
    queue[0] = null;
    const status = await runCell(cell);
    withoutStdin();
    send(`{"type":"end","cell":${cell.number},"exit_code":${status}}\n`);
    queue.shift();
  }
}

async function runCell(cell) {
  let interrupt = null;
  const interrupted = new Promise((resolve) => { interrupt = () => resolve(INTERRUPTED); });
  current = { interrupt };
  const before = putEnvironment(cell.env);
  try {
    giveStdin(cell.stdin);
    const answer = await Promise.race([evaluate(cell), interrupted]);
    if (answer === INTERRUPTED) return tellInterrupt(cell);
    let value = await Promise.race([answer.value, interrupted]);
    if (value === INTERRUPTED) return tellInterrupt(cell);
    if (value !== undefined) sendValue(value);
    value = undefined;
    return 0;
  } catch (error) {
    if (error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED') return tellInterrupt(cell);
    cleanStack(error);
    if (!cell.rich) printError(error);  // else it is reported once, as an error
    try {
      send(encodeError(error, cell.url));
    } catch {
      send('{"type":"error","name":"Error","message":"","traceback":[],"line":null}\n');
    }
    return 1;
  } finally {
    current = null;
    restoreEnvironment(before);
  }
}

// For one cell; what there was of these names, undefined where there was nothing.
function putEnvironment(entries) {
  const before = [];
  for (const entry of entries) {
    const equals = entry.indexOf('=');
    if (equals <= 0) continue;
    const name = entry.slice(0, equals);
    before.push([name, process.env[name]]);
    process.env[name] = entry.slice(equals + 1);
  }
  return before;
}

function restoreEnvironment(before) {
  for (const [name, value] of before.reverse()) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

function tellInterrupt(cell) {
  if (!cell.rich) process._rawDebug('KeyboardInterrupt: the cell was interrupted');
  send('{"type":"error","name":"KeyboardInterrupt","message":"the cell was interrupted","traceback":[],"line":null}\n');
  return 130;
}

// The value of the cell's last expression, as {value}; fails with what was thrown.
function evaluate(cell) {
  return new Promise((resolve, reject) => {
    let code = cell.code.replace(/^\uFEFF/, '').replace(/^#!.*/, '');
    // As in a console: braces at the start are an object if that is what they can be.
    if (/^\s*\{/.test(code) && !/;\s*$/.test(code) && parses(`(${code}\n)`)) code = `(${code}\n)`;
    if (toJavaScript !== null) code = toJavaScript(code, cell.url);
    if (/^[ \t]*(?:import|export)\b/m.test(code) && !parses(code)) code = importsAsCalls(code);
    code = code.replace(/\bimport(?=\s*\()/g, hidden);
    const expression = `${code}\n//# sourceURL=${cell.url}`;
    const done = (failure, answer) => {
      if (failure) return reject(new Error(failure.message));
      const details = answer.exceptionDetails;
      if (details === undefined) return resolve({ value: taken(answer.result) });
      if (details.exception === undefined) return reject(interruption());
      const error = taken(details.exception);
      if (error instanceof SyntaxError) lines.set(error, originalLine(cell.url, details.lineNumber + 1));
      reject(error);
    };
    globalThis[RUN] = () => {
      delete globalThis[RUN];
      session.post('Runtime.evaluate',
                   { expression, replMode: true, awaitPromise: true, objectGroup: 'cell' }, done);
    };
    try {
      breakable.runInThisContext({ breakOnSigint: true, displayErrors: false });
    } catch (error) {
      reject(error);
    }
  }).finally(() => session.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' }));
}

function interruption() {
  return Object.assign(new Error('interrupted'), { code: 'ERR_SCRIPT_EXECUTION_INTERRUPTED' });
}

function parses(code) {
  try {
    new vm.Script(toJavaScript === null ? code : toJavaScript(code, ''));
    return true;
  } catch {
    return false;
  }
}

// The inspector has the object's number; a function called on it, at once, hands over the object.
function taken(remote) {
  if (remote.objectId === undefined) return plainRemote(remote);
  let value;
  globalThis[TAKE] = (given) => { value = given; };
  session.post('Runtime.callFunctionOn', {
    objectId: remote.objectId,
    functionDeclaration: `function () { globalThis[Symbol.for('${TAKE_NAME}')](this); }`,
  });
  delete globalThis[TAKE];
  return value;
}

function cleanStack(error) {
  if (!isNativeError(error) || typeof error.stack !== 'string') return;
  const frames = error.stack.split('\n');
  const first = frames.findIndex((line) => line.startsWith('    at ') && (line.includes(__filename) || /\bnode:(?:inspector|vm|internal\/inspector)/.test(line)));
  const stack = first > 0 ? frames.slice(0, first).join('\n') : error.stack;
  error.stack = toJavaScript === null ? stack : originalPlaces(stack);
}

function printError(error) {
  let text;
  try {
    text = `Uncaught ${inspect(error)}\n`;
  } catch {
    text = 'Uncaught error\n';
  }
  try {
    process.stderr.write(text);
  } catch {
    // The program closed it.
  }
}

// An interrupt may break off a write. Node's own streams would then wait for ever for its end and
// show nothing more; this way there is nothing that could be left half done.
function writeAtOnce(stream, fd) {
  stream.write = (chunk, encoding, callback) => {
    const then = typeof encoding === 'function' ? encoding : callback;
    let failure = null;
    try {
      writeAll(fd, Buffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8'));
    } catch (error) {
      if (error.syscall === undefined) throw error;  // that was no text and no bytes
      failure = error;
    }
    if (typeof then === 'function') process.nextTick(then, failure);
    return failure === null;
  };
}

function writeAll(fd, data) {
  for (let at = 0; at < data.length;) {
    try {
      at += writeSync(fd, data, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);  // a child made it so
    }
  }
}

// What the cell reads, as descriptor 0 and as process.stdin.
function giveStdin(data) {
  if (data === null) return;
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stdin-'));
  const file = path.join(directory, 'stdin');
  try {
    fs.writeFileSync(file, data, { mode: 0o600 });
    reopenStdin(file);
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
  const copy = Buffer.from(data);
  setStdin(() => Readable.from(copy.length > 0 ? [copy] : [], { objectMode: false }));
}

function withoutStdin() {
  reopenStdin('/dev/null');
  setStdin(() => Readable.from([], { objectMode: false }));
}

function reopenStdin(file) {
  try {
    fs.closeSync(0);
  } catch {
    // Closed already.
  }
  fs.openSync(file, 'r');  // the lowest number there is
}

function setStdin(make) {
  let stream = null;
  Object.defineProperty(process, 'stdin', {
    configurable: true,
    enumerable: true,
    get() {
      stream ??= Object.assign(make(), { fd: 0, isTTY: false });
      return stream;
    },
  });
}

main();
