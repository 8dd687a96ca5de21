// Runs one job the way `node main.js` would, and says on the results' pipe what came of it.
//
//   node run.js         cold: the job is there already
//   node run.js wait    started ahead: one byte to descriptor 5 when ready, then one from it
//
// Descriptors as in src/wire/guest/job.h. The code is a script of the main context, so that its last
// expression has a value; require and the like are globals, as with `node -e`. What an exception
// prints is left to node itself: we only watch.
'use strict';
const fs = require('fs');
const inspector = require('inspector');
const Module = require('module');
const path = require('path');
const { pathToFileURL } = require('url');
const util = require('util');
const vm = require('vm');

const RESULTS_FD = 3;
const JOB_FD = 4;
const READY_FD = 5;
const MAGIC = 'GBXJOB1\n';
const FUNCTION = 'glovebox:function'; // the name of a job that is a call of a Lambda handler
const MOST_LINE = 8 << 20;
const MOST_TEXT = 1 << 20;
const MOST_TRACE = 1 << 16;
const MOST_NODES = 200000;
const MOST_DEPTH = 24; // the server's parser has a limit of its own, and the line adds three
const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
// Taken now: guest code may change what these names mean.
const { stringify } = JSON;
const { inspect } = util;
const { writeSync } = fs;
const { reallyExit } = process;

function main() {
  if (process.argv[2] === 'wait') {
    rehearse();
    waitForJob();
  }
  run(readJob());
}

function waitForJob() {
  const byte = Buffer.alloc(1);
  fs.writeSync(READY_FD, byte);
  if (fs.readSync(READY_FD, byte, 0, 1, null) === 0) reallyExit.call(process, 0); // not wanted
  fs.closeSync(READY_FD);
}

// Whatever is compiled or loaded at first use, before a client waits.
function rehearse() {
  new vm.Script('const a = [1].map((x) => x + 1); a', scriptOptions('/rehearsal.js'));
  inspect({ a: [1, 'b'] });
  isPlain({ a: [1, 'b'] });
  encodeResult('1', '1');
  require('./lambda_handler.js');
  void process.stdout;
  void process.stderr;
}

function readJob() {
  const data = Buffer.allocUnsafe(fs.fstatSync(JOB_FD).size);
  let size = 0;
  while (size < data.length) {
    const got = fs.readSync(JOB_FD, data, size, data.length - size, size);
    if (got === 0) break;
    size += got;
  }
  fs.closeSync(JOB_FD);
  return parseJob(data.subarray(0, size));
}

function parseJob(data) {
  let at = MAGIC.length;
  const number = () => {
    at += 4;
    return data.readUInt32LE(at - 4); // throws past the end
  };
  const text = () => {
    const size = number();
    if (at + size > data.length) throw new Error('glovebox: the job ends too early');
    at += size;
    return data.toString('utf8', at - size, at);
  };
  const texts = () => Array.from({ length: Math.min(number(), data.length) }, text);
  if (data.toString('latin1', 0, at) !== MAGIC) throw new Error('glovebox: not a job');
  return { env: texts(), args: texts(), workdir: text(), name: text() || 'main.js', code: text() };
}

function run(job) {
  enter(job);
  if (job.name === FUNCTION) {
    const handlers = require('./lambda_handler.js');
    for (const name of Object.keys(require.cache)) delete require.cache[name]; // ours
    handlers.run(handlers.parse(job.code), send);
    return;
  }
  const filename = path.resolve(job.workdir, job.name);
  const code = job.code.replace(/^\uFEFF/, '').replace(/^#!.*/, '');
  process.argv = [process.execPath, filename, ...job.args];
  process.execArgv = [];
  becomeMain(filename);
  watchErrors(filename);
  leaveQuickly();
  evaluate(code, filename);
}

function enter(job) {
  // A job that says nothing of it has the process's own.
  if (job.env.length > 0) for (const name of Object.keys(process.env)) delete process.env[name];
  for (const entry of job.env) {
    const equals = entry.indexOf('=');
    if (equals > 0) process.env[entry.slice(0, equals)] = entry.slice(equals + 1);
  }
  process.chdir(job.workdir);
}

// The module that require.main is, with its names where the script finds them.
function becomeMain(filename) {
  for (const name of Object.keys(require.cache)) delete require.cache[name]; // this file
  const module = new Module(filename, null);
  module.id = '.';
  module.filename = filename;
  module.paths = Module._nodeModulePaths(path.dirname(filename));
  Module._cache[filename] = module;
  process.mainModule = module;
  const require_ = Module.createRequire(filename);
  require_.main = module;
  const names = { require: require_, module, exports: module.exports,
                  __filename: filename, __dirname: path.dirname(filename) };
  for (const [name, value] of Object.entries(names)) {
    Object.defineProperty(globalThis, name,
                          { value, writable: true, configurable: true, enumerable: false });
  }
}

// Node.js 20 and older have none of this: there import() in a script goes through us.
const OWN_LOADER = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;

// The one way to import() from a script on newer versions is called experimental once, on stderr,
// when it is first used. That is our choice and no news to the program.
function useUpTheWarning() {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  new vm.Script('import("node:fs")', scriptOptions('/warning.js')).runInThisContext();
  process.emitWarning = emitWarning;
}

function scriptOptions(filename) {
  return OWN_LOADER === undefined ? { filename } : { filename, importModuleDynamically: OWN_LOADER };
}

// import() as a call of ours, for code that has no file to start from.
function importsThroughUs(code, filename) {
  if (!/\bimport\s*\(/.test(code)) return code;
  const base = pathToFileURL(filename);
  const load = (name) => import(/^\.{0,2}\//.test(name) ? new URL(name, base).href : name);
  const hidden = `__import_${process.pid}_${Date.now()}`;
  Object.defineProperty(globalThis, hidden, { value: load, configurable: true });
  return code.replace(/\bimport(?=\s*\()/g, hidden);
}

function evaluate(code, filename) {
  let script = null;
  if (OWN_LOADER !== undefined && /\bimport\s*\(/.test(code)) useUpTheWarning();
  try {
    script = new vm.Script(OWN_LOADER === undefined ? importsThroughUs(code, filename) : code,
                           scriptOptions(filename));
  } catch (error) {
    if (!(error instanceof SyntaxError) || !/\b(?:await|import|export)\b/.test(code)) throw error;
    evaluateWithAwait(importsAsCalls(code), filename, error);
    return;
  }
  // Not caught: an exception's own place is lost when it is thrown again.
  settle(script.runInThisContext({ displayErrors: false }));
}

// `import` declarations, line by line what they mean. A module proper would need a file, and its
// last expression would have no value.
function importsAsCalls(code) {
  const load = (name) => `await import(${name})`;
  const pick = (names) => names.replace(/\s+as\s+/g, ': ');
  return code
      .replace(/^([ \t]*)import\s+(["'][^"'\n]+["'])/gm, (_, space, from) => space + load(from))
      .replace(/^([ \t]*)import\s+([\w$]+)\s+from\s+(["'][^"'\n]+["'])/gm,
               (_, space, name, from) => `${space}const {default: ${name}} = ${load(from)}`)
      .replace(/^([ \t]*)import\s+\*\s+as\s+([\w$]+)\s+from\s+(["'][^"'\n]+["'])/gm,
               (_, space, name, from) => `${space}const ${name} = ${load(from)}`)
      .replace(/^([ \t]*)import\s+(?:([\w$]+)\s*,\s*)?\{([^}]*)\}\s*from\s+(["'][^"'\n]+["'])/gm,
               (_, space, name, names, from) =>
                 `${space}const {${name ? `default: ${name}, ` : ''}${pick(names)}} = ${load(from)}`)
      .replace(/^([ \t]*)export\s+(?:default\s+)?(?=(?:const|let|var|function|class|async)\b)/gm, '$1');
}

// V8's own mode for consoles knows top-level await, and the value of the last expression with it.
// It is reached through the inspector, in this thread; no port is opened.
function evaluateWithAwait(code, filename, firstError) {
  const session = new inspector.Session();
  session.connect();
  let pending = true;
  process.on('exit', (status) => {
    if (!pending || status !== 0) return;
    pending = false;
    process.exitCode = 13; // node's own number for it
    process._rawDebug('Warning: Detected unsettled top-level await');
  });
  const expression = importsThroughUs(code, filename) + `\n//# sourceURL=${filename}`;
  const take = (remote, then) => {
    if (remote.objectId === undefined) return then(plainRemote(remote));
    // The inspector has the object's number; a function called on it, at once, hands over the object.
    let value;
    globalThis[TAKE] = (given) => { value = given; };
    session.post('Runtime.callFunctionOn', {
      objectId: remote.objectId,
      functionDeclaration: `function () { globalThis[Symbol.for('${TAKE_NAME}')](this); }`,
    });
    delete globalThis[TAKE];
    then(value);
  };
  session.post('Runtime.evaluate', { expression, replMode: true, awaitPromise: true }, (failure, answer) => {
    pending = false;
    if (failure) throw Object.assign(firstError, { cause: failure });
    const details = answer.exceptionDetails;
    if (details === undefined) {
      take(answer.result, settle);
      session.disconnect();
      return;
    }
    take(details.exception, (error) => {
      // The place of a SyntaxError is beside it, not in its stack.
      if (error instanceof SyntaxError) lines.set(error, details.lineNumber + 1);
      session.disconnect();
      Promise.reject(error); // for node to report as it does
    });
  });
}

const TAKE_NAME = 'glovebox.take';
const TAKE = Symbol.for(TAKE_NAME);
const lines = new WeakMap(); // of errors whose stack does not have it

function plainRemote(remote) {
  if (remote.unserializableValue === undefined) return remote.value;
  const text = remote.unserializableValue;
  return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
}

// The value of the last expression. A promise is waited for; if it fails, node says so.
function settle(value) {
  if (util.types.isPromise(value)) {
    value.then(settle);
  } else if (value !== undefined) {
    sendValue(value);
  }
}

function sendValue(value) {
  let text;
  try {
    text = inspect(value);
  } catch (error) {
    text = `[${typeof value} that cannot be shown: ${error?.message}]`;
  }
  let json;
  try {
    if (isPlain(value)) json = stringify(value);
  } catch {
    // Then without.
  }
  send(encodeResult(text, json));
}

function encodeResult(text, json) {
  const notes = [];
  if (text.length > MOST_TEXT) {
    notes.push(`[text/plain: ${text.length - MOST_TEXT} characters more]`);
    text = text.slice(0, MOST_TEXT);
  }
  if (json !== undefined && Buffer.byteLength(json) > MOST_LINE - 7 * MOST_TEXT) {
    notes.push(`[application/json: ${json.length} characters, too large]`);
    json = undefined;
  }
  const shown = stringify([text, ...notes].join('\n').replace(LONE_SURROGATE, '\uFFFD'));
  return '{"type":"result","mime":{"text/plain":' + shown +
      (json === undefined ? '' : ',"application/json":' + json) + '},"main":true' +
      (notes.length ? ',"truncated":true' : '') + '}\n';
}

// Whether JSON says the same as the value.
function isPlain(root) {
  let nodes = 0;
  const plain = (value, depth) => {
    if (++nodes > MOST_NODES || depth > MOST_DEPTH) return false;
    switch (typeof value) {
      case 'boolean': return true;
      case 'number': return Number.isFinite(value);
      case 'string': return value.search(LONE_SURROGATE) < 0;
      case 'object': break;
      default: return false;
    }
    if (value === null) return true;
    if (util.types.isProxy(value)) return false;
    const prototype = Object.getPrototypeOf(value);
    if (Array.isArray(value)) {
      return prototype === Array.prototype && Object.keys(value).length === value.length &&
          value.every((item) => plain(item, depth + 1));
    }
    return (prototype === Object.prototype || prototype === null) &&
        typeof value.toJSON !== 'function' && Object.getOwnPropertySymbols(value).length === 0 &&
        Object.entries(value).every(([key, item]) => key.search(LONE_SURROGATE) < 0 && plain(item, depth + 1));
  };
  return plain(root, 0);
}

// Reports an uncaught error, just before node prints it and exits.
function watchErrors(filename) {
  process.on('uncaughtExceptionMonitor', (error) => {
    if (process.listenerCount('uncaughtException') > 0) return; // the program's own affair
    failing = true;
    try {
      withoutOurFrames(error);
      send(encodeError(error, filename));
    } catch {
      send('{"type":"error","name":"Error","message":"","traceback":[],"line":null}\n');
    }
  });
}

let failing = false;

function withoutOurFrames(error) {
  if (!util.types.isNativeError(error) || typeof error.stack !== 'string') return;
  const frames = error.stack.split('\n');
  const first = frames.findIndex((line) => line.includes(__filename));
  if (first < 0) return;
  let end = first;
  while (end > 0 && /^    at .*\(?node:(?:vm|internal)/.test(frames[end - 1])) --end;
  // Without any frame node takes the text for something else and puts brackets around it.
  if (!frames.slice(0, end).some((line) => line.startsWith('    at '))) ++end;
  error.stack = frames.slice(0, end).join('\n');
}

function encodeError(error, filename) {
  const native = util.types.isNativeError(error) || error instanceof Error;
  const stack = native && typeof error.stack === 'string' ? error.stack : inspect(error);
  const clean = (text) => shortened(String(text)).replace(LONE_SURROGATE, '\uFFFD');
  return stringify({
    type: 'error',
    name: clean(native ? error.name : typeof error),
    message: clean(native ? error.message : typeof error === 'string' ? error : inspect(error)),
    traceback: clean(stack).split('\n'),
    line: (native ? lines.get(error) : undefined) ?? lineIn(stack, filename),
  }) + '\n';
}

function lineIn(stack, filename) {
  const at = stack.indexOf(filename + ':');
  const line = at < 0 ? NaN : parseInt(stack.slice(at + filename.length + 1), 10);
  return Number.isNaN(line) ? null : line;
}

function shortened(text) {
  if (text.length <= MOST_TRACE) return text;
  return text.slice(0, MOST_TRACE / 2) + `\n[... ${text.length - MOST_TRACE} characters ...]\n` +
      text.slice(-MOST_TRACE / 2);
}

function send(line) {
  let data = Buffer.from(line, 'utf8');
  try {
    while (data.length > 0) data = data.subarray(writeSync(RESULTS_FD, data));
  } catch {
    // There is no reader, or the program closed it.
  }
}

// Once the program's own exit handlers have run there is nothing left to do; taking the interpreter
// apart takes milliseconds that a client waits for.
function leaveQuickly() {
  const { emit } = process;
  process.emit = function (name, ...rest) {
    const answer = Reflect.apply(emit, this, [name, ...rest]);
    if (name === 'exit' && !failing) {
      const code = Number(process.exitCode ?? rest[0] ?? 0) & 0xff;
      send(`{"type":"exit","code":${code}}\n`);
      reallyExit.call(process, code);
    }
    return answer;
  };
}

if (require.main === module) {
  main();
} else {  // context.js
  module.exports = { encodeError, importsAsCalls, lines, parseJob, plainRemote, sendValue, send };
}
