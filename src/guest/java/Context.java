// A code context in Java: cells come on descriptor 4, one after the other, and share one JShell.
//
//   java OPTIONS Context.java       cells and answers as in src/wire/guest/cell.h; options: see
//                                   src/sessions/contexts/context_languages.cc
//
// A cell is any number of snippets as jshell has them. They run in this very process: what they print goes to
// its streams, and SIGINT stops the one that runs. Java has no way to change its environment, so a cell's own
// variables are put into the map behind System.getenv() and into the system properties; programs
// that it starts have them if it asks for ProcessBuilder.environment().
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.JShellException;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.UnresolvedReferenceException;

public class Context {
  static final int MOST_RECORD = 17 << 20;
  static final int MOST_TEXT = 1 << 20;
  static final int MOST_TRACE = 1 << 16;
  // What the jshell command imports by itself.
  static final String[] IMPORTS = {
      "java.io.*", "java.math.*", "java.net.*", "java.nio.file.*", "java.util.*", "java.util.concurrent.*",
      "java.util.function.*", "java.util.prefs.*", "java.util.regex.*", "java.util.stream.*"};

  static FileOutputStream results;
  static JShell shell;
  static Map<String, String> environment;
  static volatile boolean running;
  static volatile boolean interrupted;

  public static void main(String[] arguments) throws Exception {
    var cells = new DataInputStream(new FileInputStream(descriptor(4)));
    results = new FileOutputStream(descriptor(3));
    System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8));
    System.setIn(InputStream.nullInputStream());
    sun.misc.Signal.handle(new sun.misc.Signal("INT"), signal -> interrupt());
    byte[] first = readRecord(cells);
    if (first == null) return;
    enter(new Reader(first));
    shell = JShell.builder().executionEngine("local").out(System.out).err(System.err).build();
    for (String name : IMPORTS) shell.eval("import " + name + ";");
    send("{\"type\":\"ready\"}");
    for (byte[] record; (record = readRecord(cells)) != null;) {
      Cell cell = new Cell(new Reader(record));
      Map<String, String> before = putEnvironment(cell.env);
      Map<String, String> properties = putProperties(cell.env);
      int status = run(cell);
      restore(before, environment);
      restoreProperties(properties);
      System.out.flush();
      System.err.flush();
      send("{\"type\":\"end\",\"cell\":" + Long.toUnsignedString(cell.number) + ",\"exit_code\":" + status + "}");
    }
    send("{\"type\":\"exit\",\"code\":0}");
    Runtime.getRuntime().halt(0);
  }

  static FileDescriptor descriptor(int number) throws ReflectiveOperationException {
    var constructor = FileDescriptor.class.getDeclaredConstructor(int.class);
    constructor.setAccessible(true);
    return constructor.newInstance(number);
  }

  // The next record; null at the end.
  static byte[] readRecord(DataInputStream cells) throws IOException {
    try {
      int size = Integer.reverseBytes(cells.readInt());
      if (size < 0 || size > MOST_RECORD) return null;
      byte[] record = new byte[size];
      cells.readFully(record);
      return record;
    } catch (EOFException end) {
      return null;
    }
  }

  static final class Reader {
    final ByteBuffer record;

    Reader(byte[] bytes) { record = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN); }

    String text() {
      byte[] bytes = new byte[count()];
      record.get(bytes);
      return new String(bytes, StandardCharsets.UTF_8);
    }

    int count() {
      int count = record.getInt();
      if (count < 0 || count > record.remaining()) throw new BufferUnderflowException();
      return count;
    }

    List<String> texts() {
      var all = new ArrayList<String>();
      for (int left = count(); left > 0; --left) all.add(text());
      return all;
    }
  }

  static final class Cell {
    final long number;
    final String name;
    final String stdin;  // null: none was given
    final String code;
    final boolean rich;
    final List<String> env;

    Cell(Reader from) {
      number = from.record.getLong();
      int flags = from.record.get();
      String given = from.text();
      name = given.isEmpty() ? "<cell " + number + ">" : given;
      String text = from.text();
      stdin = (flags & 1) != 0 ? text : null;
      code = from.text();
      env = (flags & 2) != 0 ? from.texts() : List.of();
      rich = (flags & 4) != 0;
    }
  }

  static void enter(Reader from) throws ReflectiveOperationException {
    from.record.position(8);  // that it is a job
    List<String> env = from.texts();
    from.texts();
    String directory = from.text();
    environment = environmentMap();
    putEnvironment(env);
    putProperties(env);
    // The process itself was started there; this is what Java resolves paths against.
    Path path = Path.of(directory);
    if (!Files.isDirectory(path) || !Files.isExecutable(path)) {
      sendError("OSError", "glovebox: cannot enter the working directory: " + directory, List.of(), null);
      send("{\"type\":\"exit\",\"code\":1}");
      Runtime.getRuntime().halt(1);
    }
    System.setProperty("user.dir", directory);
  }

  // The map behind System.getenv().
  @SuppressWarnings("unchecked")
  static Map<String, String> environmentMap() throws ReflectiveOperationException {
    Map<String, String> shown = System.getenv();
    Field behind = shown.getClass().getDeclaredField("m");
    behind.setAccessible(true);
    return (Map<String, String>) behind.get(shown);
  }

  static Map<String, String> putEnvironment(List<String> entries) {
    var before = new LinkedHashMap<String, String>();
    for (String entry : entries) {
      int equals = entry.indexOf('=');
      if (equals <= 0 || entry.indexOf('\0') >= 0) continue;
      String name = entry.substring(0, equals);
      before.putIfAbsent(name, environment.get(name));
      environment.put(name, entry.substring(equals + 1));
    }
    return before;
  }

  static void restore(Map<String, String> before, Map<String, String> map) {
    before.forEach((name, value) -> {
      if (value == null) map.remove(name);
      else map.put(name, value);
    });
  }

  // Java's own properties have names in small letters with dots: those stay.
  static Map<String, String> putProperties(List<String> entries) {
    var before = new LinkedHashMap<String, String>();
    for (String entry : entries) {
      int equals = entry.indexOf('=');
      if (equals <= 0 || entry.substring(0, equals).matches("(java|sun|jdk|user|os|file|line|path)\\..*")) continue;
      String name = entry.substring(0, equals);
      before.putIfAbsent(name, System.getProperty(name));
      System.setProperty(name, entry.substring(equals + 1));
    }
    return before;
  }

  static void restoreProperties(Map<String, String> before) {
    before.forEach((name, value) -> {
      if (value == null) System.clearProperty(name);
      else System.setProperty(name, value);
    });
  }

  static void interrupt() {
    if (!running) return;
    interrupted = true;
    shell.stop();
  }

  static int run(Cell cell) {
    interrupted = false;
    InputStream none = System.in;
    if (cell.stdin != null) System.setIn(new java.io.ByteArrayInputStream(cell.stdin.getBytes(StandardCharsets.UTF_8)));
    running = true;
    try {
      return evaluate(cell);
    } catch (Throwable error) {  // of the compiler
      return report(cell, error.getClass().getName(), String.valueOf(error.getMessage()), List.of(), null);
    } finally {
      running = false;
      if (cell.stdin != null) System.setIn(none);
    }
  }

  static int evaluate(Cell cell) {
    String rest = cell.code;
    SnippetEvent last = null;
    while (!rest.isBlank()) {
      int line = lineOf(cell.code, cell.code.length() - rest.length() + leadingSpace(rest));
      var part = shell.sourceCodeAnalysis().analyzeCompletion(rest);
      if (part.completeness() == SourceCodeAnalysis.Completeness.EMPTY) break;
      String source = part.source();
      if (source == null || !part.completeness().isComplete()) source = rest;
      rest = source == rest ? "" : part.remaining();
      List<SnippetEvent> events = shell.eval(source);
      if (interrupted) {
        sendError("KeyboardInterrupt", "the cell was interrupted", List.of(), null);
        return 130;
      }
      for (SnippetEvent event : events) {
        if (event.causeSnippet() != null) continue;  // an earlier one that is compiled anew
        if (event.status() == Snippet.Status.REJECTED) return reject(cell, event.snippet(), source, line);
        if (event.exception() != null) return fail(cell, event.exception(), line);
        last = event;
      }
    }
    if (last != null && hasValue(last)) sendResult(last.value());
    return 0;
  }

  // An expression, whether jshell gives it a name or not; no declaration.
  static boolean hasValue(SnippetEvent event) {
    if (event.value() == null || event.value().isEmpty()) return false;
    Snippet snippet = event.snippet();
    return snippet.kind() == Snippet.Kind.EXPRESSION || snippet.subKind() == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND;
  }

  static int leadingSpace(String text) {
    int at = 0;
    while (at < text.length() && Character.isWhitespace(text.charAt(at))) ++at;
    return at;
  }

  static int lineOf(String code, int offset) {
    return 1 + (int) code.substring(0, Math.min(offset, code.length())).chars().filter(c -> c == '\n').count();
  }

  static int reject(Cell cell, Snippet snippet, String source, int line) {
    var lines = new ArrayList<String>();
    Integer at = null;
    for (Diag wrong : (Iterable<Diag>) shell.diagnostics(snippet)::iterator) {
      if (!wrong.isError()) continue;
      int place = line + lineOf(source, (int) Math.max(0, wrong.getPosition())) - lineOf(source, leadingSpace(source));
      if (at == null) at = place;
      lines.add(cell.name + ":" + place + ": " + wrong.getMessage(Locale.ENGLISH));
    }
    String message = lines.isEmpty() ? "the snippet was rejected" : lines.get(0).substring(lines.get(0).indexOf(": ") + 2);
    return report(cell, "CompilationError", message, lines, at);
  }

  static int fail(Cell cell, JShellException thrown, int line) {
    if (thrown instanceof UnresolvedReferenceException) {
      return report(cell, "UnresolvedReferenceException", "a method or class that is not defined is used: " + ((UnresolvedReferenceException) thrown).getSnippet().source(), List.of(), line);
    }
    var lines = new ArrayList<String>();
    for (Throwable one = thrown; one != null && lines.size() < 200; one = one.getCause()) {
      String name = one instanceof EvalException ? ((EvalException) one).getExceptionClassName() : one.getClass().getName();
      lines.add((lines.isEmpty() ? "" : "Caused by: ") + name + (one.getMessage() == null ? "" : ": " + one.getMessage()));
      for (StackTraceElement frame : one.getStackTrace()) lines.add("    at " + frame);
    }
    String name = thrown instanceof EvalException ? ((EvalException) thrown).getExceptionClassName() : thrown.getClass().getName();
    return report(cell, name, String.valueOf(thrown.getMessage()), lines, line);
  }

  static int report(Cell cell, String name, String message, List<String> trace, Integer line) {
    if (!cell.rich) {
      if (trace.isEmpty()) System.err.println(name + ": " + message);
      else trace.forEach(System.err::println);
    }
    sendError(name, message, trace, line);
    return 1;
  }

  static void sendResult(String text) {
    boolean isCut = text.length() > MOST_TEXT;
    if (isCut) text = text.substring(0, MOST_TEXT) + "\n[text/plain: " + (text.length() - MOST_TEXT) + " characters more]";
    send("{\"type\":\"result\",\"mime\":{\"text/plain\":" + quoted(text) + "},\"main\":true" + (isCut ? ",\"truncated\":true" : "") + "}");
  }

  static void sendError(String name, String message, List<String> trace, Integer line) {
    var lines = new StringBuilder();
    for (String one : trace) {
      if (lines.length() > MOST_TRACE) break;
      if (lines.length() > 0) lines.append(',');
      lines.append(quoted(one));
    }
    String text = message.length() > MOST_TRACE ? message.substring(0, MOST_TRACE) : message;
    send("{\"type\":\"error\",\"name\":" + quoted(name) + ",\"message\":" + quoted(text) + ",\"traceback\":[" + lines + "],\"line\":" + line + "}");
  }

  static String quoted(String text) {
    var out = new StringBuilder("\"");
    for (int at = 0; at < text.length(); ++at) {
      char c = text.charAt(at);
      if (c == '"' || c == '\\') out.append('\\').append(c);
      else if (c >= ' ' && c < 127) out.append(c);
      else if (Character.isSurrogate(c) && !isPair(text, at)) out.append("\\ufffd");
      else out.append(String.format("\\u%04x", (int) c));
    }
    return out.append('"').toString();
  }

  static boolean isPair(String text, int at) {
    char c = text.charAt(at);
    if (Character.isHighSurrogate(c)) return at + 1 < text.length() && Character.isLowSurrogate(text.charAt(at + 1));
    return at > 0 && Character.isHighSurrogate(text.charAt(at - 1));
  }

  static synchronized void send(String line) {
    try {
      results.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException gone) {
      // There is no reader.
    }
  }
}
