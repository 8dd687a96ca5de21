"""Calls one AWS Lambda handler: a job whose code is a call, as JSON (src/wire/functions/function_call.h).

The module is the caller's source, run under its own name; then handler(event, context), and what it
returns as JSON. What comes of it is one line of results, {"type":"function", ...}, whose value or error
is in base64: a line's commas are counted, and those of a value are the caller's affair. What the handler
prints goes to its streams and nowhere else. A handler can write such a line itself, and that of its exit,
and so choose its own result and exit code; there is nothing else to be had by it.
"""
import binascii
import json
import os
import sys
import time

MOST_RESULT = 6_000_000  # bytes of JSON, as Lambda's own limit
MOST_TEXT = 1 << 16
MOST_FRAMES = 100
OURS = __file__.rpartition("/")[0] + "/"
# Taken now: the handler may change what these names mean.
dumps, loads, Encoder = json.dumps, json.loads, json.JSONEncoder
encode64 = binascii.b2a_base64
now = time.monotonic


class Refused(Exception):
    """What Lambda's own runtime says of a handler, rather than the handler of itself."""

    def __init__(self, kind, message, stack=()):
        Exception.__init__(self, message)
        self.kind, self.stack = kind, list(stack)


class CognitoIdentity:
    __slots__ = ("cognito_identity_id", "cognito_identity_pool_id")

    def __init__(self, words):
        for name in self.__slots__:
            setattr(self, name, words.get(name))

    def __repr__(self):
        return "CognitoIdentity(%s)" % ", ".join("%s=%r" % (name, getattr(self, name)) for name in self.__slots__)


class Client:
    __slots__ = ("installation_id", "app_title", "app_version_name", "app_version_code", "app_package_name")

    def __init__(self, words):
        for name in self.__slots__:
            setattr(self, name, words.get(name))


class ClientContext:
    def __init__(self, words):
        client = words.get("client")
        self.custom, self.env = words.get("custom"), words.get("env")
        self.client = Client(client) if isinstance(client, dict) else None


class LambdaContext:
    """What a handler is told of its invocation; every name in it is one of Lambda's, or the caller's own."""

    def __init__(self, words, deadline):
        client = words.pop("client_context", None)
        self.identity = CognitoIdentity(words.pop("identity", None) or {})
        self.client_context = ClientContext(client) if client else None
        self.__dict__.update(words)
        self._deadline = deadline
        self._epoch_deadline_time_in_ms = int((time.time() + deadline - now()) * 1000)

    def get_remaining_time_in_millis(self):
        return max(int((self._deadline - now()) * 1000), 0)

    def log(self, message):
        sys.stdout.write(str(message))

    def __repr__(self):
        return "LambdaContext([%s])" % ",".join("%s=%s" % one for one in self.__dict__.items() if one[0][0] != "_")


class Loader:
    """A module's __loader__: its source, for tracebacks and inspect."""

    def __init__(self, code):
        self._code = code

    def get_source(self, fullname=None):
        return self._code

    def is_package(self, fullname):
        return False


class Phases:
    imported = handled = None

    def words(self):
        return b"".join(b',"%s_ms":%.3f' % (name, took * 1000)
                        for name, took in ((b"import", self.imported), (b"handler", self.handled)) if took is not None)


def run(job, results, runner):
    """Does the call and ends the process."""
    began = now()
    phases = Phases()
    line, status = None, 1
    try:
        call = loads(job.code)
        deadline = began + call["timeout_ms"] / 1000
        runner["_enter"](job)
        runner["_new_main"](os.path.join(os.getcwd(), call["file"]), Loader(call["code"]))
        sys.argv[:] = [call["file"]]
        value = invoke(call, deadline, phases)
        line, status = b'{"type":"function","value":"%s"%s}\n' % (encode64(value, newline=False), phases.words()), 0
    except SystemExit as error:
        # As if it had ended by itself; what that means is said outside.
        status = runner["_exit_status"](error)
    except BaseException as error:
        line = report(error, call["context"].get("aws_request_id"), phases)
    leave(results, line, status, runner)


def invoke(call, deadline, phases):
    """The handler's value as bytes of JSON."""
    directory = os.getcwd()
    set_environment(call, directory)
    if sys.path[:1] != [directory]:
        sys.path.insert(0, directory)
    if call.get("imports"):  # the process engine's policy
        mode, names = call["imports"]
        load("import_policy").install(mode, names, directory)
    began = now()
    try:
        handler = find_handler(call, directory)
    finally:
        phases.imported = now() - began
    return handle(handler, call["event"], LambdaContext(dict(call["context"]), deadline), phases)


class Shared:
    """The handler of calls that share an interpreter: its module is loaded by the first of them."""

    def __init__(self, job, results):
        self._results = results
        self._call = loads(job.code)
        self._directory = os.getcwd()
        self._handler = None
        runner = sys.modules["_glovebox_runner"]
        runner._new_main(os.path.join(self._directory, self._call["file"]), Loader(self._call["code"]))
        self._exit_status = runner._exit_status

    def call(self, _, data):
        """Does one call; its exit status."""
        began = now()
        phases = Phases()
        line, status = None, 1
        words = {}
        try:
            invocation = loads(data)
            words = invocation["context"]
            deadline = began + invocation["timeout_ms"] / 1000
            sys.argv[:] = [self._call["file"]]
            handler = self._find(words, phases)
            value = handle(handler, invocation["event"], LambdaContext(dict(words), deadline), phases)
            line, status = b'{"type":"function","value":"%s"%s}\n' % (encode64(value, newline=False), phases.words()), 0
        except SystemExit as error:
            status = self._exit_status(error)
        except BaseException as error:
            line = report(error, words.get("aws_request_id"), phases)
        if line is not None:
            for stream in (sys.stdout, sys.stderr):
                quietly(flush, stream)
            self._results.send(line)
        return status or 0

    def _find(self, words, phases):
        global request_id
        request_id = words.get("aws_request_id")
        if self._handler is None:
            call = {**self._call, "context": words}
            set_environment(call, self._directory)
            if sys.path[:1] != [self._directory]:
                sys.path.insert(0, self._directory)
            began = now()
            try:
                self._handler = find_handler(call, self._directory)
            finally:
                phases.imported = now() - began
        return self._handler


request_id = None  # of the call that is under way, for its log


def handle(handler, event, context, phases):
    """The handler's value as bytes of JSON."""
    began = now()
    try:
        value = handler(event, context)
        if hasattr(value, "__await__") and type(value).__name__ == "coroutine":
            import asyncio

            value = asyncio.run(value)
    finally:
        phases.handled = now() - began
    return marshalled(value)


def set_environment(call, directory):
    """What a handler finds in Lambda's environment, where the caller has not said otherwise."""
    context = call["context"]
    for name, value in (
        ("_HANDLER", call["module"] + "." + call["function"]),
        ("LAMBDA_TASK_ROOT", directory),
        ("AWS_LAMBDA_FUNCTION_NAME", context.get("function_name")),
        ("AWS_LAMBDA_FUNCTION_VERSION", context.get("function_version")),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", context.get("memory_limit_in_mb")),
        ("AWS_LAMBDA_LOG_GROUP_NAME", context.get("log_group_name")),
        ("AWS_LAMBDA_LOG_STREAM_NAME", context.get("log_stream_name")),
    ):
        if value is not None and name not in os.environ:
            os.environ[name] = str(value)


def find_handler(call, directory):
    name, function = call["module"], call["function"]
    path = directory.rstrip("/") + "/" + call["file"]
    source = call["code"]
    if source[:1] == "\ufeff":
        source = source[1:]
    module = type(sys)(name)
    module.__file__, module.__loader__ = path, Loader(source)
    # Not in the place of a module that is loaded: a handler named json.py does not replace json.
    sys.modules.setdefault(name, module)
    # The process engine's directory is one of the host's, which tracebacks do not show.
    shown = "/home/user/" + call["file"] if call.get("imports") else path
    try:
        code = compile(source, shown, "exec", 0, True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise syntax_refusal(name, error) from None
    remember_source(shown, source)
    if "logging" in source or "logging" in sys.modules:
        install_log(call)
    try:
        exec(code, module.__dict__)
    except SyntaxError as error:  # in a module that it imports
        raise syntax_refusal(name, error) from None
    except ImportError as error:
        raise Refused("Runtime.ImportModuleError", "Unable to import module '%s': %s" % (name, error),
                      stack_of(error.__traceback__)) from None
    if "logging" in sys.modules:  # by way of a module beside it
        install_log(call)
    try:
        handler = getattr(module, function)
    except AttributeError:
        raise Refused("Runtime.HandlerNotFound", "Handler '%s' missing on module '%s'" % (function, name)) from None
    if not callable(handler):
        raise Refused("Runtime.HandlerNotFound",
                      "Handler '%s' on module '%s' is not a function but of type %s" % (function, name, type(handler).__name__))
    return handler


def install_log(call):
    """The root logger's handler, as Lambda has it before a handler's module is loaded."""
    import logging

    root = logging.getLogger()
    if root.handlers:
        return
    global request_id
    request_id = call["context"].get("aws_request_id")

    class LambdaLog(logging.Handler):
        def emit(self, record):
            record.aws_request_id = request_id
            try:
                sys.stdout.write(self.format(record) + "\n")
            except Exception:
                self.handleError(record)

    handler = LambdaLog()
    handler.setFormatter(logging.Formatter("[%(levelname)s]\t%(asctime)s.%(msecs)03dZ\t%(aws_request_id)s\t%(message)s",
                                           "%Y-%m-%dT%H:%M:%S"))
    handler.formatter.converter = time.gmtime
    root.addHandler(handler)


def syntax_refusal(name, error):
    stack = []
    if isinstance(error, SyntaxError):
        stack.append('  File "%s" Line %s\n    %s' % (error.filename, error.lineno, (error.text or "").strip()))
    return Refused("Runtime.UserCodeSyntaxError", "Syntax error in module '%s': %s" % (name, error or type(error).__name__), stack)


def remember_source(path, source):
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        text = source if source.endswith("\n") else source + "\n"
        # Lazy: split into lines only when needed.
        linecache.cache[path] = (lambda: text,)


def marshalled(value):
    try:
        text = Encoder(ensure_ascii=False, allow_nan=False, default=plain).encode(value).encode("utf-8")
    except Exception as error:
        raise Refused("Runtime.MarshalError", "Unable to marshal response: %s" % message_of(error)) from None
    if len(text) > MOST_RESULT:
        raise Refused("Function.ResponseSizeTooLarge",
                      "Response payload size exceeded maximum allowed payload size (%d bytes)." % MOST_RESULT)
    return text


def plain(value):
    decimal = sys.modules.get("decimal")
    if decimal is not None and isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError("Object of type %s is not JSON serializable" % type(value).__name__)


def report(error, request_id, phases):
    """The line that tells of it; and the log, as Lambda's has it."""
    try:
        kind, message, stack = described(error)
        log = "[ERROR] %s: %s\n" % (kind, message)
        if stack:
            log += "Traceback (most recent call last):\n" + "".join(stack)
        words = {"errorMessage": message, "errorType": kind, "requestId": request_id, "stackTrace": stack}
        text = dumps(words).encode("ascii")
    except BaseException:  # no memory even for that
        error.__traceback__ = None
        log = "[ERROR] an exception that cannot be described\n"
        text = b'{"errorMessage":"","errorType":"Exception","stackTrace":[]}'
    quietly(flush, sys.stdout)
    quietly(flush, sys.stderr)
    quietly(write_log, log if log.endswith("\n") else log + "\n")
    return b'{"type":"function","error":"%s"%s}\n' % (encode64(text, newline=False), phases.words())


def described(error):
    if isinstance(error, Refused):
        return error.kind, shortened(str(error)), error.stack
    return type(error).__name__, shortened(message_of(error)), stack_of(error.__traceback__)


def message_of(error):
    try:
        return str(error)
    except BaseException:
        return "<exception str() failed>"


def stack_of(trace):
    """The frames of a traceback without ours, as text; of very many, the first and the last."""
    import traceback

    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(OURS):
        trace = trace.tb_next
    frames = traceback.extract_tb(trace)
    frames[:] = [frame for frame in frames if frame.filename != "<import policy>"]
    frames = frames.format()
    if len(frames) > MOST_FRAMES:
        left_out = "  [... %d frames ...]\n" % (len(frames) - MOST_FRAMES)
        frames = frames[: MOST_FRAMES // 2] + [left_out] + frames[-MOST_FRAMES // 2 :]
    return [shortened(frame) for frame in frames]


def shortened(text):
    if len(text) <= MOST_TEXT:
        return text
    return "%s\n[... %d characters ...]\n%s" % (text[: MOST_TEXT // 2], len(text) - MOST_TEXT, text[-MOST_TEXT // 2 :])


def write_log(text):
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(2, data) :]


def flush(stream):
    if stream is not None:
        stream.flush()


def quietly(function, *arguments):
    try:
        function(*arguments)
    except BaseException:
        pass


def leave(results, line, status, runner):
    """At once: what the handler left running does not hold its answer up, as in Lambda."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        quietly(flush, stream)
    quietly(runner["_flush_files"])
    if line is not None:
        results.send(line)
    # None: a KeyboardInterrupt would end a program by its signal; here it is an error like others.
    results.send(b'{"type":"exit","code":%d}\n' % (status or 0))
    results.close()
    for fd in (0, 1, 2):
        quietly(os.close, fd)
    os._exit(status or 0)
