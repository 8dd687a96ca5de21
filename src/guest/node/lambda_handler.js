// Calls one AWS Lambda handler: a job whose code is a call, as JSON (src/wire/functions/function_call.h).
//
// The source is a CommonJS module, or an ES module where it is called .mjs or is written as one. A
// handler answers by a promise, by its callback, or (as in newer Lambda) by what it returns. What
// comes of it is one line of results, {"type":"function", ...}, whose value or error is in base64;
// what it prints goes to its streams and nowhere else. A handler can write such a line itself, and that
// of its exit, and so choose its own result and exit code; there is nothing else to be had by it.
'use strict';
const fs = require('fs');
const Module = require('module');
const path = require('path');
const { pathToFileURL } = require('url');
const util = require('util');
const vm = require('vm');

const MOST_RESULT = 6000000; // bytes of JSON, as Lambda's own limit
const MOST_TEXT = 1 << 16;
const MOST_FRAMES = 100;
const OURS = __dirname + path.sep;
// Taken now: the handler may change what these names mean.
const { stringify, parse } = JSON;
const { writeSync } = fs;
const { reallyExit } = process;
const { inspect } = util;
const now = performance.now.bind(performance);

class Refused extends Error {
  constructor(kind, message, stack = []) {
    super(message);
    this.kind = kind;
    this.frames = stack;
  }
}

// `send` writes a line to the results' pipe.
function run(call, send) {
  const began = now();
  const about = { send, requestId: call.context.aws_request_id, phases: {}, done: false };
  watch(about);
  setEnvironment(call);
  process.argv = [process.execPath, path.resolve(call.file)];
  load(call).then((handler) => {
    about.phases.import_ms = now() - began;
    invoke(call, handler, began + call.timeout_ms, about);
  }).catch((error) => {
    about.phases.import_ms ??= now() - began;
    fail(about, error);
  });
}

// Lambda's messages for an uncaught error, an empty event loop and an exit.
function watch(about) {
  process.on('uncaughtException', (error) => fail(about, error));
  process.on('unhandledRejection', (reason) => fail(about, new Refused(
      'Runtime.UnhandledPromiseRejection', described(reason, about).errorMessage, framesOf(reason))));
  process.on('beforeExit', () => {
    if (!about.done) settle(about, about.waiting);
  });
  // By itself, with no result: what that means is said outside.
  const { emit } = process;
  process.emit = function (name, ...rest) {
    const answer = Reflect.apply(emit, this, [name, ...rest]);
    if (name === 'exit') end(about, Number(process.exitCode ?? rest[0] ?? 0) & 0xff);
    return answer;
  };
}

function setEnvironment(call) {
  const words = {
    _HANDLER: `${call.module}.${call.function}`,
    LAMBDA_TASK_ROOT: process.cwd(),
    AWS_LAMBDA_FUNCTION_NAME: call.context.function_name,
    AWS_LAMBDA_FUNCTION_VERSION: call.context.function_version,
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: call.context.memory_limit_in_mb,
    AWS_LAMBDA_LOG_GROUP_NAME: call.context.log_group_name,
    AWS_LAMBDA_LOG_STREAM_NAME: call.context.log_stream_name,
  };
  for (const [name, value] of Object.entries(words)) {
    if (value !== undefined && value !== null && !(name in process.env)) process.env[name] = String(value);
  }
}

// ---- The module

async function load(call) {
  const filename = path.resolve(call.file);
  const code = call.code.replace(/^\uFEFF/, '').replace(/^#!.*/, '');
  let exported;
  try {
    exported = call.file.endsWith('.mjs') ? await asEsModule(filename, code) : await asModule(filename, code);
  } catch (error) {
    throw loadRefusal(error);
  }
  return find(exported, call);
}

async function asModule(filename, code) {
  const module = new Module(filename, null);
  module.id = '.';
  module.filename = filename;
  module.paths = Module._nodeModulePaths(path.dirname(filename));
  Module._cache[filename] = module;
  process.mainModule = module;
  if (!filename.endsWith('.cjs') && isEsModule(code, filename)) {
    delete Module._cache[filename];
    return asEsModule(filename.replace(/\.js$/, '.mjs'), code);
  }
  module._compile(code, filename, 'commonjs');
  module.loaded = true;
  return module.exports;
}

// Whether the code does not parse as a script and looks like a module. Parsed here first, because
// Node.js itself warns on stderr (18) or takes it as a module in its own way (22) when it is told to
// compile such a file as a script.
function isEsModule(code, filename) {
  if (!/^\s*(?:import|export)\b|\bawait\b|import\.meta/m.test(code)) return false;
  try {
    new vm.Script(Module.wrap(code), { filename });
    return false;
  } catch (error) {
    return error instanceof SyntaxError;
  }
}

// Such a module needs a file.
async function asEsModule(filename, code) {
  fs.mkdirSync(path.dirname(filename), { recursive: true });
  fs.writeFileSync(filename, code);
  return import(pathToFileURL(filename).href);
}

function loadRefusal(error) {
  const frames = framesOf(error);
  if (error instanceof SyntaxError) {
    return new Refused('Runtime.UserCodeSyntaxError', `SyntaxError: ${error.message}`, frames);
  }
  if (error?.code === 'MODULE_NOT_FOUND' || error?.code === 'ERR_MODULE_NOT_FOUND') {
    return new Refused('Runtime.ImportModuleError', `Error: ${error.message}`, frames);
  }
  return error;
}

function find(exported, call) {
  const name = `${call.module}.${call.function}`;
  let handler = call.function.split('.').reduce((at, part) => at?.[part], exported);
  if (handler === undefined) {
    handler = call.function.split('.').reduce((at, part) => at?.[part], exported?.default);
  }
  if (handler === undefined || handler === null) {
    throw new Refused('Runtime.HandlerNotFound', `${name} is undefined or not exported`);
  }
  if (typeof handler !== 'function') {
    throw new Refused('Runtime.HandlerNotFound', `${name} is not a function`);
  }
  return handler;
}

// ---- The call

function invoke(call, handler, deadline, about) {
  about.began = now();
  const callback = (error, data) => {
    if (about.waiting !== undefined || about.done) return;
    about.waiting = error === null || error === undefined ? { data } : { error };
    if (!context.callbackWaitsForEmptyEventLoop) settle(about, about.waiting);
  };
  const context = contextOf(call.context, deadline, callback);
  const answer = handler(call.event, context, callback);
  if (typeof answer?.then === 'function') {
    // Whatever it is rejected with, nothing included, is an error; a callback's nothing is none.
    answer.then((data) => settle(about, { data }), (error) => fail(about, error));
  } else if (answer !== undefined && handler.length < 3) {
    settle(about, { data: answer });
  }
}

const NAMES = {
  __proto__: null, // a caller's own word may be `constructor`
  function_name: 'functionName', function_version: 'functionVersion',
  invoked_function_arn: 'invokedFunctionArn', memory_limit_in_mb: 'memoryLimitInMB',
  aws_request_id: 'awsRequestId', log_group_name: 'logGroupName', log_stream_name: 'logStreamName',
  identity: 'identity', client_context: 'clientContext',
};

function contextOf(words, deadline, callback) {
  const context = { callbackWaitsForEmptyEventLoop: true };
  for (const [name, value] of Object.entries(words)) {
    if (value === null || value === undefined) continue;
    context[NAMES[name] ?? name] = name === 'memory_limit_in_mb' ? String(value) : value;
  }
  const identity = context.identity;
  if (identity) {
    context.identity = { cognitoIdentityId: identity.cognito_identity_id ?? identity.cognitoIdentityId,
                         cognitoIdentityPoolId: identity.cognito_identity_pool_id ?? identity.cognitoIdentityPoolId };
  }
  context.getRemainingTimeInMillis = () => Math.max(Math.floor(deadline - now()), 0);
  // The oldest way to answer.
  context.done = (error, data) => { context.callbackWaitsForEmptyEventLoop = false; callback(error, data); };
  context.succeed = (data) => context.done(null, data);
  context.fail = (error) => context.done(error ?? 'handled');
  return context;
}

// ---- What came of it

function settle(about, end) {
  if (about.done) return;
  if (end?.error !== undefined) return fail(about, end.error);
  about.phases.handler_ms = now() - about.began;
  let text;
  try {
    text = stringify(end?.data) ?? 'null';
  } catch (error) {
    return fail(about, new Refused('Runtime.MarshalError', `Unable to marshal response: ${error?.message}`));
  }
  const value = Buffer.from(text, 'utf8');
  if (value.length > MOST_RESULT) {
    return fail(about, new Refused('Function.ResponseSizeTooLarge',
        `Response payload size exceeded maximum allowed payload size (${MOST_RESULT} bytes).`));
  }
  about.line = `{"type":"function","value":"${value.toString('base64')}"${phaseWords(about)}}\n`;
  leave(about, 0);
}

function fail(about, error) {
  if (about.done) return;
  if (about.began !== undefined) about.phases.handler_ms ??= now() - about.began;
  let text;
  try {
    const words = described(error, about);
    const log = `[ERROR] ${words.errorType}: ${words.errorMessage}\n` +
        words.stackTrace.map((frame) => frame + '\n').join('');
    writeLog(log);
    text = stringify(words);
  } catch {
    text = '{"errorMessage":"","errorType":"Error","stackTrace":[],"trace":[]}';
  }
  about.line = `{"type":"function","error":"${Buffer.from(text, 'utf8').toString('base64')}"${phaseWords(about)}}\n`;
  leave(about, 1);
}

function described(error, about) {
  const refused = error instanceof Refused;
  const native = util.types.isNativeError(error) || error instanceof Error;
  const errorType = refused ? error.kind : native ? String(error.name) : typeof error;
  const errorMessage = shortened(native ? String(error.message) : typeof error === 'string' ? error : inspect(error));
  const stackTrace = refused ? error.frames : framesOf(error);
  return { errorType, errorMessage, requestId: about.requestId, stackTrace,
           trace: [`${errorType}: ${errorMessage}`, ...stackTrace] };
}

// The frames of a stack without ours; of very many, the first and the last.
function framesOf(error) {
  const native = util.types.isNativeError(error) || error instanceof Error;
  if (!native || typeof error.stack !== 'string') return [];
  const lines = error.stack.split('\n').map(shortened);
  const first = lines.findIndex((line) => /^ {4}at /.test(line));
  if (first < 0) return [];
  const frames = lines.slice(first).filter((line) => !line.includes(OURS) && !line.includes('(node:internal/'));
  if (frames.length <= MOST_FRAMES) return frames;
  return [...frames.slice(0, MOST_FRAMES / 2), `    [... ${frames.length - MOST_FRAMES} frames ...]`,
          ...frames.slice(-MOST_FRAMES / 2)];
}

function phaseWords(about) {
  return Object.entries(about.phases).map(([name, ms]) => `,"${name}":${ms.toFixed(3)}`).join('');
}

function shortened(text) {
  if (text.length <= MOST_TEXT) return text;
  return text.slice(0, MOST_TEXT / 2) + `\n[... ${text.length - MOST_TEXT} characters ...]\n` + text.slice(-MOST_TEXT / 2);
}

function writeLog(text) {
  let data = Buffer.from(text, 'utf8');
  while (data.length > 0) {
    try {
      data = data.subarray(writeSync(2, data));
    } catch (error) {
      if (error?.code !== 'EAGAIN') return;
    }
  }
}

// At once: what the handler left running does not hold its answer up; only its logs do.
function leave(about, status) {
  if (about.done) return;
  about.done = true;
  let waiting = 1;
  const go = () => { if (--waiting === 0) end(about, status); };
  try {
    for (const stream of [process.stdout, process.stderr]) {
      if (!(stream.writableLength > 0)) continue;
      ++waiting;
      stream.write('', go);
    }
  } catch {
    waiting = 1; // the handler has put something else in their place
  }
  go();
}

function end(about, status) {
  if (about.ended) return;
  about.ended = true;
  if (about.line !== undefined) about.send(about.line);
  about.send(`{"type":"exit","code":${status}}\n`);
  reallyExit.call(process, status);
}

module.exports = { run, parse };
