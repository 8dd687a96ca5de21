// The code interpreter: results, what is printed, errors, contexts, languages, charts.
import { assert, describe, ended, it, interpreter, Seen, together } from './support.mjs'

const e2b = await interpreter()  // it has all of e2b, too
const { Sandbox } = e2b

async function fresh(t, opts = {}) {
  return ended(t, await Sandbox.create({ timeoutMs: 120_000, ...opts }))
}

describe('interpreter', { ...together, concurrency: 2 }, () => {
  it('gives the value of the last line', async (t) => {
    const sandbox = await fresh(t)
    const execution = await sandbox.runCode('x = 20\nx + 22')
    assert.equal(execution.text, '42')
    assert.equal(execution.results.length, 1)
    assert.equal(execution.results[0].isMainResult, true)
    assert.equal(execution.error, undefined)
    assert.deepEqual(execution.logs, { stdout: [], stderr: [] })
  })

  it('gives text without its quotes', async (t) => {
    const sandbox = await fresh(t)
    assert.equal((await sandbox.runCode(`'some ' + "text"`)).text, 'some text')
  })

  it('has no result where there is none', async (t) => {
    const sandbox = await fresh(t)
    const execution = await sandbox.runCode('x = 1')
    assert.equal(execution.text, undefined)
    assert.deepEqual(execution.results, [])
  })

  it('keeps what was defined', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.runCode('import math\ndef area(r): return math.pi * r * r\nradius = 2')
    assert.equal((await sandbox.runCode('round(area(radius), 2)')).text, '12.57')
  })

  it('starts anew after a pause without memory', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.runCode('x = 1; open("kept.txt", "w").write("kept")')
    const context = await sandbox.createCodeContext({ cwd: '/tmp' })
    await sandbox.runCode('x = 2', { context })
    await sandbox.pause({ keepMemory: false })
    await sandbox.connect()
    assert.equal((await sandbox.runCode('x')).error.name, 'NameError')
    assert.equal((await sandbox.runCode('open("kept.txt").read()')).text, 'kept')
    assert.equal((await sandbox.runCode('x', { context })).error.name, 'NameError')
  })

  it('counts executions', async (t) => {
    const sandbox = await fresh(t)
    assert.equal((await sandbox.runCode('1')).executionCount, 1)
    assert.equal((await sandbox.runCode('2')).executionCount, 2)
  })

  it('tells what is printed, where', async (t) => {
    const sandbox = await fresh(t)
    const { logs } = await sandbox.runCode('import sys\nprint("out ä€")\nprint("err", file=sys.stderr)')
    assert.equal(logs.stdout.join(''), 'out ä€\n')
    assert.equal(logs.stderr.join(''), 'err\n')
  })

  it('tells everything as it comes', async (t) => {
    const sandbox = await fresh(t)
    const [out, err, results, errors] = [new Seen(), new Seen(), new Seen(), new Seen()]
    const running = sandbox.runCode(
      'import sys, os\nos.mkfifo("/tmp/go")\nprint("first", flush=True)\nopen("/tmp/go").read()\nprint("bad", file=sys.stderr)\n7',
      { onStdout: (message) => out.push(message.line), onStderr: (message) => err.push(message.line),
        onResult: results.push, onError: errors.push })
    await out.has('first')  // and it still runs, for it reads
    await sandbox.commands.run('echo > /tmp/go')
    await running
    assert.equal(err.text, 'bad\n')
    assert.deepEqual(results.items.map(({ text }) => text), ['7'])
    assert.deepEqual(errors.items, [])
  })

  it('tells of an error, and what came before it', async (t) => {
    const sandbox = await fresh(t)
    const errors = new Seen()
    const execution = await sandbox.runCode('print("before")\nnot_defined', { onError: errors.push })
    assert.deepEqual([execution.error.name, execution.error.value], ['NameError', "name 'not_defined' is not defined"])
    assert.match(execution.error.traceback, /NameError/)
    assert.equal(execution.logs.stdout.join(''), 'before\n')
    assert.equal(errors.items.length, 1)
    assert.equal((await sandbox.runCode('"still there"')).text, 'still there')
  })

  it('tells of code that cannot be read', async (t) => {
    const sandbox = await fresh(t)
    assert.equal((await sandbox.runCode('def (')).error.name, 'SyntaxError')
  })

  it('prints a lot, nothing lost', async (t) => {
    const sandbox = await fresh(t)
    const { logs } = await sandbox.runCode('for i in range(30000): print(i, "ä€😀")')
    assert.equal(logs.stdout.join(''), [...Array(30000).keys()].map((i) => `${i} ä€😀\n`).join(''))
  })

  it('shows what is displayed besides the result', async (t) => {
    const sandbox = await fresh(t)
    const execution = await sandbox.runCode(
      'from IPython.display import display, HTML, Markdown\ndisplay(HTML("<b>bold</b>"))\ndisplay(Markdown("*text*"))\n3')
    assert.equal(execution.error, undefined, JSON.stringify(execution.error))
    assert.deepEqual(execution.results.map(({ isMainResult }) => isMainResult), [false, false, true])
    assert.equal(execution.results[0].html, '<b>bold</b>')
    assert.equal(execution.results[1].markdown, '*text*')
    assert.equal(execution.text, '3')
  })

  it('shows a table as a page and as data', async (t) => {
    const sandbox = await fresh(t)
    const { results, error } = await sandbox.runCode('import pandas as pd\npd.DataFrame({"a": [1, 2], "b": ["x", "y"]})')
    assert.equal(error, undefined, JSON.stringify(error))
    assert.match(results[0].html, /<table/)
    assert.deepEqual(results[0].data, { a: [1, 2], b: ['x', 'y'] })
    assert.match(results[0].text, /x/)
  })

  it('shows a picture', async (t) => {
    const sandbox = await fresh(t)
    const { results, error } = await sandbox.runCode('import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()')
    assert.equal(error, undefined, JSON.stringify(error))
    const { png } = results.find((result) => result.png)
    assert.equal(Buffer.from(png, 'base64').subarray(1, 4).toString(), 'PNG')
  })

  it('reads a line chart', async (t) => {
    const sandbox = await fresh(t)
    const { results } = await sandbox.runCode(`import matplotlib.pyplot as plt
fig, ax = plt.subplots()
ax.plot([1, 2, 3], [1, 4, 9], label="squares")
ax.set_title("Growth"); ax.set_xlabel("n (items)"); ax.set_ylabel("n*n")
plt.show()`)
    const { chart } = results.find((result) => result.chart)
    assert.deepEqual([chart.type, chart.title, chart.y_label], ['line', 'Growth', 'n*n'])
    assert.match(chart.x_label, /^n/)
    assert.deepEqual(chart.elements, [{ label: 'squares', points: [[1, 1], [2, 4], [3, 9]] }])
    assert.deepEqual([chart.x_scale, chart.y_scale], ['linear', 'linear'])
    assert.equal(chart.x_ticks.length, chart.x_tick_labels.length)
  })

  it('reads a scatter chart', async (t) => {
    const sandbox = await fresh(t)
    const { results } = await sandbox.runCode(
      'import matplotlib.pyplot as plt\nplt.scatter([1, 2], [3, 4], label="dots")\nplt.show()')
    const { chart } = results.find((result) => result.chart)
    assert.equal(chart.type, 'scatter')
    assert.deepEqual(chart.elements[0].points, [[1, 3], [2, 4]])
  })

  it('reads a bar chart', async (t) => {
    const sandbox = await fresh(t)
    const { results } = await sandbox.runCode(
      'import matplotlib.pyplot as plt\nplt.bar(["one", "two"], [1, 2])\nplt.show()')
    const { chart } = results.find((result) => result.chart)
    assert.equal(chart.type, 'bar')
    assert.deepEqual(chart.elements.map(({ label, value }) => [label, Number(value)]), [['one', 1], ['two', 2]])
  })

  it('reads a pie chart', async (t) => {
    const sandbox = await fresh(t)
    const { results } = await sandbox.runCode(
      'import matplotlib.pyplot as plt\nplt.pie([1, 3], labels=["a", "b"])\nplt.title("Pie")\nplt.show()')
    const { chart } = results.find((result) => result.chart)
    assert.deepEqual([chart.type, chart.title], ['pie', 'Pie'])
    assert.deepEqual(chart.elements.map(({ label }) => label), ['a', 'b'])
    assert.ok(Math.abs(chart.elements[1].angle - 270) < 1)
  })

  it('reads a box chart', async (t) => {
    const sandbox = await fresh(t)
    const { results } = await sandbox.runCode(
      'import matplotlib.pyplot as plt\nplt.boxplot([[1, 2, 3, 4, 5]], labels=["five"])\nplt.show()')
    const { chart } = results.find((result) => result.chart)
    assert.equal(chart.type, 'box_and_whisker')
    const [{ label, min, median, max }] = chart.elements
    assert.deepEqual([label, min, median, max], ['five', 1, 3, 5])
  })

  it('reads several charts of one figure', async (t) => {
    const sandbox = await fresh(t)
    const { results } = await sandbox.runCode(
      'import matplotlib.pyplot as plt\nfig, (a, b) = plt.subplots(1, 2)\na.plot([1, 2])\nb.bar(["x"], [1])\nplt.show()')
    const { chart } = results.find((result) => result.chart)
    assert.equal(chart.type, 'superchart')
    assert.deepEqual(chart.elements.map(({ type }) => type), ['line', 'bar'])
  })

  it('gives variables to one execution only', async (t) => {
    const sandbox = await fresh(t, { envs: { SHARED: 'sandbox' } })
    const code = 'import os\n[os.environ.get("OWN"), os.environ.get("SHARED")]'
    assert.equal((await sandbox.runCode(code, { envs: { OWN: 'x', SHARED: 'y' } })).text, "['x', 'y']")
    assert.equal((await sandbox.runCode(code)).text, "[None, 'sandbox']")
  })

  it('shares files and home with commands', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('data.csv', 'a,b\n1,2\n')
    assert.equal((await sandbox.runCode('import os\nos.getcwd(), len(open("data.csv").read())')).text, "('/home/user', 8)")
    await sandbox.runCode('open("made.txt", "w").write("by code")')
    assert.equal(await sandbox.files.read('made.txt'), 'by code')
  })

  it('keeps contexts apart', async (t) => {
    const sandbox = await fresh(t)
    const [one, two] = [await sandbox.createCodeContext(), await sandbox.createCodeContext()]
    await sandbox.runCode('x = 1', { context: one })
    await sandbox.runCode('x = 2', { context: two })
    assert.equal((await sandbox.runCode('x', { context: one })).text, '1')
    assert.equal((await sandbox.runCode('x', { context: two })).text, '2')
    assert.equal((await sandbox.runCode('x')).error.name, 'NameError')
  })

  it('makes a context where it is told', async (t) => {
    const sandbox = await fresh(t)
    const context = await sandbox.createCodeContext({ cwd: '/tmp', language: 'python' })
    assert.deepEqual([context.cwd, context.language], ['/tmp', 'python'])
    assert.equal((await sandbox.runCode('import os\nos.getcwd()', { context })).text, '/tmp')
  })

  it('lists contexts in order, with the ones that are always there', async (t) => {
    const sandbox = await fresh(t)
    const before = await sandbox.listCodeContexts()
    assert.ok(before.some(({ language }) => language === 'python'), JSON.stringify(before))
    const made = await sandbox.createCodeContext()
    const after = await sandbox.listCodeContexts()
    assert.equal(after.length, before.length + 1)
    assert.deepEqual(after.at(-1), made)
  })

  it('removes a context', async (t) => {
    const sandbox = await fresh(t)
    const context = await sandbox.createCodeContext()
    await sandbox.removeCodeContext(context)
    assert.ok(!(await sandbox.listCodeContexts()).some(({ id }) => id === context.id))
    await assert.rejects(sandbox.runCode('1', { context }), e2b.NotFoundError)
    await assert.rejects(sandbox.removeCodeContext(context.id), e2b.NotFoundError)
  })

  it('restarts a context', async (t) => {
    const sandbox = await fresh(t)
    const context = await sandbox.createCodeContext()
    await sandbox.runCode('x = 1', { context })
    await sandbox.restartCodeContext(context)
    const execution = await sandbox.runCode('x', { context })
    assert.equal(execution.error.name, 'NameError')
    assert.equal(execution.executionCount, 1)
    await assert.rejects(sandbox.restartCodeContext('no-such-context'), e2b.NotFoundError)
  })

  it('runs JavaScript', async (t) => {
    const sandbox = await fresh(t)
    const execution = await sandbox.runCode('const x = 20\nconsole.log("said")\nx + 22', { language: 'javascript' })
    assert.equal(execution.error, undefined, JSON.stringify(execution.error))
    assert.equal(execution.logs.stdout.join(''), 'said\n')
    assert.equal(execution.text, '42')
    assert.equal((await sandbox.runCode('x', { language: 'js' })).text, '20')
  })

  it('runs bash', async (t) => {
    const sandbox = await fresh(t)
    const execution = await sandbox.runCode('cd /tmp; A=b; echo "$PWD"', { language: 'bash' })
    assert.equal(execution.logs.stdout.join(''), '/tmp\n')
    assert.equal((await sandbox.runCode('echo "$PWD $A"', { language: 'bash' })).logs.stdout.join(''), '/tmp b\n')
  })

  it('says which languages it does not have', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.runCode('1', { language: 'cobol' }), e2b.SandboxError)
    await assert.rejects(sandbox.createCodeContext({ language: 'cobol' }), e2b.SandboxError)
  })

  it('is free again when a client gives up', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.runCode('kept = "yes"')
    await assert.rejects(sandbox.runCode('while True: pass', { timeoutMs: 700 }), e2b.TimeoutError)
    assert.equal((await sandbox.runCode('kept', { timeoutMs: 10_000 })).text, 'yes')
  })

  it('runs one after another in one context, together in several', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.runCode('n = 0')
    await Promise.all([1, 2, 3, 4].map(() => sandbox.runCode('n += 1')))
    assert.equal((await sandbox.runCode('n')).text, '4')
    const other = await sandbox.createCodeContext()
    const out = new Seen()
    const waiting = sandbox.runCode('import os\nos.mkfifo("/tmp/f")\nprint("waits", flush=True)\nopen("/tmp/f").read()',
      { onStdout: (message) => out.push(message.line) })
    await out.has('waits')
    await sandbox.runCode('open("/tmp/f", "w").write("go")', { context: other })
    assert.equal((await waiting).text, 'go')
  })

  it('comes back after its interpreter died', async (t) => {
    const sandbox = await fresh(t)
    const died = await sandbox.runCode('x = 1\nimport os\nos._exit(3)')
    assert.ok(died.error, 'an interpreter that is gone is an error')
    assert.equal((await sandbox.runCode('"x" in globals()')).text, 'False')
  })

  it('keeps its state over a pause', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.runCode('x = "kept"')
    await sandbox.pause()
    await sandbox.connect()
    assert.equal((await sandbox.runCode('x')).text, 'kept')
  })

  it('says that its sandbox was killed', async (t) => {
    const sandbox = await fresh(t)
    const out = new Seen()
    const running = sandbox.runCode('print("begun", flush=True)\nwhile True: pass', { onStdout: (message) => out.push(message.line) })
    const told = assert.rejects(running, e2b.TimeoutError)  // may come before the kill is answered
    await out.has('begun')
    await sandbox.kill()
    await told
    await assert.rejects(sandbox.runCode('1'), e2b.TimeoutError)
  })

  it('needs the traffic token where there is one', async (t) => {
    const sandbox = await fresh(t, { network: { allowPublicTraffic: false } })
    assert.equal((await sandbox.runCode('1 + 1')).text, '2')
    assert.ok((await sandbox.listCodeContexts()).length > 0)
  })
})
