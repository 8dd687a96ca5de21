// What an assistant does with the tools, by the client that assistants have.
import { assert, describe, it, kind, McpError, talk, textOf } from './support.mjs'

describe('over ' + kind, () => {
  it('is introduced', async (t) => {
    const { client } = await talk(t)
    assert.equal(client.getServerVersion().name, 'glovebox')
    assert.deepEqual(client.getServerCapabilities(), { tools: { listChanged: false } })
    assert.match(client.getInstructions(), /sandbox/)
    await client.ping()
  })

  it('lists its tools with schemas', async (t) => {
    const { client } = await talk(t)
    const { tools } = await client.listTools()
    assert.deepEqual(tools.map((tool) => tool.name).sort(),
      ['list_files', 'read_file', 'reset_sandbox', 'run_code', 'run_command', 'write_file'])
    for (const tool of tools) assert.equal(tool.inputSchema.additionalProperties, false)
  })

  it('runs code that keeps its state', async (t) => {
    const { text } = await talk(t)
    assert.equal(await text('run_code', { code: 'x = 20\nprint("hello")\nx + 1' }), 'hello\n\nresult:\n21')
    assert.equal(await text('run_code', { code: 'x * 2' }), 'result:\n40')
    assert.equal(await text('run_code', { code: '[1, 2].map((n) => n * 2)', language: 'javascript' }),
      'result:\n[ 2, 4 ]')
    assert.equal(await text('run_code', { code: 'echo "$((6 * 7))"', language: 'bash' }), '42\n')
  })

  it('shows a figure as an image', async (t) => {
    const { call } = await talk(t)
    const code = 'import matplotlib.pyplot as plt\nplt.bar(["a", "b"], [3, 5])\nplt.show()'
    const result = await call('run_code', { code })
    const images = result.content.filter((block) => block.type === 'image')
    assert.equal(images.length, 1, JSON.stringify(result).slice(0, 500))
    assert.equal(images[0].mimeType, 'image/png')
    assert.equal(Buffer.from(images[0].data, 'base64').subarray(1, 4).toString(), 'PNG')
  })

  it('handles files', async (t) => {
    const { call, text } = await talk(t)
    const wrote = await call('write_file', { path: 'data/in.csv', content: 'a,b\n1,2\n' })
    assert.deepEqual(wrote.structuredContent, { path: 'data/in.csv', bytes: 8 })
    assert.equal(await text('read_file', { path: '/home/user/data/in.csv' }), 'a,b\n1,2\n')
    const listed = await call('list_files', { path: 'data' })
    assert.deepEqual(listed.structuredContent.entries, [{ path: 'in.csv', type: 'file', size: 8 }])
    assert.equal(await text('run_code', { code: 'open("data/in.csv").read()' }), "result:\n'a,b\\n1,2\\n'")
    await text('run_code', {
      code: 'import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig("p.png")\nplt.close()',
    })
    const picture = await call('read_file', { path: 'p.png' })
    assert.deepEqual(picture.content.map((block) => [block.type, block.mimeType]), [['image', 'image/png']])
    const bytes = Buffer.from([0, 255, 1, 254])
    await text('write_file', { path: 'b', content: bytes.toString('base64'), encoding: 'base64' })
    const [blob] = (await call('read_file', { path: 'b' })).content
    assert.deepEqual(Buffer.from(blob.resource.blob, 'base64'), bytes)
  })

  it('runs commands, whose results match their schema', async (t) => {
    const { client, call } = await talk(t)
    await client.listTools() // from here on the client checks what is structured
    const result = await call('run_command', { command: 'echo out; echo err >&2; exit 3' })
    const { exit_code, stdout, stderr } = result.structuredContent
    assert.deepEqual([exit_code, stdout, stderr, result.isError], [3, 'out\n', 'err\n', true])
    assert.equal((await call('run_command', { command: 'cat', stdin: 'in' })).structuredContent.stdout, 'in')
    assert.equal((await call('list_files')).structuredContent.truncated, false)
  })

  it('tells what failed', async (t) => {
    const { call } = await talk(t)
    const failed = await call('run_code', { code: 'undefined_name' })
    assert.equal(failed.isError, true)
    assert.match(textOf(failed), /NameError: name 'undefined_name' is not defined/)
    assert.equal((await call('run_code', { code: '1', timeout_s: 1e6 })).isError, true)
    assert.equal((await call('read_file', { path: '/no/such' })).isError, true)
    await assert.rejects(call('no_such_tool'), (error) => error instanceof McpError && error.code === -32602)
    const slow = await call('run_code', { code: 'while True: pass', timeout_s: 0.5 })
    assert.match(textOf(slow), /time limit/)
  })

  it('shows output while code runs', async (t) => {
    const { text } = await talk(t)
    let seen = ''
    let values = []
    const onprogress = (progress) => {
      seen += progress.message ?? ''
      values.push(progress.progress)
      if (seen.includes('one')) text('write_file', { path: 'go', content: '' })
    }
    const code = 'import os\nprint("one", flush=True)\nwhile not os.path.exists("go"): pass\nprint("two")'
    assert.equal(await text('run_code', { code }, { onprogress }), 'one\ntwo\n')
    assert.match(seen, /one/)
    assert.deepEqual(values, [...values].sort((a, b) => a - b))
  })

  it('stops what is cancelled and goes on', async (t) => {
    const { call, text } = await talk(t)
    await text('run_code', { code: 'kept = 1' })
    for (const [tool, args] of [
      ['run_code', { code: 'print("on", flush=True)\nimport time\ntime.sleep(90)' }],
      ['run_command', { command: 'echo on; sleep 90' }],
    ]) {
      const stop = new AbortController()
      const onprogress = () => stop.abort('enough')
      await assert.rejects(call(tool, args, { signal: stop.signal, onprogress }), /enough/)
    }
    assert.equal(await text('run_code', { code: 'kept' }), 'result:\n1')
    // A cancellation is a notification: the process may still be there when the next call begins.
    const left = await call('run_command', {
      command: 'until ! ps ax -o args | grep "[s]leep 90" > /tmp/left; do sleep 0.02; done; cat /tmp/left',
      timeout_s: 20,
    })
    assert.deepEqual(left.structuredContent, { ...left.structuredContent, exit_code: 0, stdout: '' })
  })

  it('runs calls in parallel', async (t) => {
    const { call } = await talk(t)
    const command = (i) => `touch ${i}; until [ $(ls | wc -l) -ge 6 ]; do sleep 0.02; done; echo ${i}`
    const all = [0, 1, 2, 3, 4, 5].map((i) => call('run_command', { command: command(i) }))
    const outputs = (await Promise.all(all)).map((result) => result.structuredContent.stdout)
    assert.deepEqual(outputs, ['0\n', '1\n', '2\n', '3\n', '4\n', '5\n'])
  })

  it('keeps two conversations apart', async (t) => {
    const one = await talk(t)
    const two = await talk(t)
    await one.text('run_code', { code: 'secret = 42' })
    await one.text('write_file', { path: 'secret.txt', content: '42' })
    assert.equal((await two.call('run_code', { code: 'secret' })).isError, true)
    assert.equal((await two.call('read_file', { path: 'secret.txt' })).isError, true)
    assert.equal(await one.text('run_code', { code: 'secret' }), 'result:\n42')
  })

  it('begins anew when it is told to', async (t) => {
    const { call, text } = await talk(t)
    await text('run_code', { code: 'x = 1' })
    await text('reset_sandbox')
    assert.equal((await call('run_code', { code: 'x' })).isError, true)
  })

  it('carries large answers and large files', async (t) => {
    const { text, call } = await talk(t)
    const content = 'x'.repeat(3_000_000)
    await text('write_file', { path: 'large', content })
    assert.equal(await text('run_code', { code: 'len(open("large").read())' }), 'result:\n3000000')
    const read = await call('read_file', { path: 'large' })
    assert.equal(read.content[0].text.length, 65536)
    const code = 'import numpy as np, matplotlib.pyplot as plt\n' +
      'plt.figure(figsize=(9, 9))\nplt.imshow(np.random.rand(900, 900, 3))\nplt.show()'
    const noise = await call('run_code', { code })
    assert.ok(noise.content[0].data.length > 500_000, JSON.stringify(noise).slice(0, 300))
  })
})
