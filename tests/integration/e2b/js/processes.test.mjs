// Processes that live beside their client: background, input, several listeners, signals, time.
import { assert, describe, e2b, fresh, go, it, Seen, together, waits } from './support.mjs'

async function begun(sandbox, opts = {}, line = waits) {
  const out = new Seen()
  const command = await sandbox.commands.run(line, { background: true, onStdout: out.push, ...opts })
  await out.has('begun')
  return { command, out }
}

const numbers = async (sandbox) => (await sandbox.commands.list()).map(({ pid }) => pid)

describe('processes', together, () => {
  it('runs in the background and can be waited for', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox)
    assert.equal(command.exitCode, undefined)
    await go(sandbox)
    const result = await command.wait()
    assert.deepEqual([result.exitCode, result.stdout], [0, 'begun\nended well\n'])
    assert.equal(command.exitCode, 0)
  })

  it('has the number that it has inside', async (t) => {
    const sandbox = await fresh(t)
    const command = await sandbox.commands.run('echo $$; read line', { background: true, stdin: true })
    await sandbox.commands.run(`kill -0 ${command.pid}`)
    await command.sendStdin('\n')
    assert.equal((await command.wait()).stdout, `${command.pid}\n`)
  })

  it('is listed with what it was started with, until it ends', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox, { cwd: '/tmp', envs: { A: 'b' } })
    const found = (await sandbox.commands.list()).find(({ pid }) => pid === command.pid)
    assert.equal(found.cmd, '/bin/bash')
    assert.deepEqual(found.args, ['-l', '-c', waits])
    assert.equal(found.envs.A, 'b')
    assert.equal(found.cwd, '/tmp')
    await sandbox.commands.run('echo x > /tmp/go')
    await command.wait()
    assert.ok(!(await numbers(sandbox)).includes(command.pid))
  })

  it('can be killed, once', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox)
    assert.equal(await command.kill(), true)
    await assert.rejects(command.wait(), (error) => {
      assert.ok(error instanceof e2b.CommandExitError, error)
      assert.deepEqual([error.exitCode, error.error], [-1, 'signal: killed'])
      return true
    })
    assert.equal(await sandbox.commands.kill(command.pid), false)
  })

  it('ends at once when killed, even if another process holds its output', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox, {}, 'sleep 300 & echo begun; wait')
    await sandbox.commands.kill(command.pid)
    await assert.rejects(command.wait(), { exitCode: -1 })
  })

  it('is not there to be killed when it never was', async (t) => {
    const sandbox = await fresh(t)
    assert.equal(await sandbox.commands.kill(999_999), false)
  })

  it('reads what it is sent, in order, until the end', async (t) => {
    const sandbox = await fresh(t)
    const command = await sandbox.commands.run('cat', { background: true, stdin: true })
    await sandbox.commands.sendStdin(command.pid, 'one\n')
    await command.sendStdin(new TextEncoder().encode('zwei ä\n'))
    await command.sendStdin('')
    await command.sendStdin('three')
    await command.closeStdin()
    assert.equal((await command.wait()).stdout, 'one\nzwei ä\nthree')
  })

  it('reads a lot', async (t) => {
    const sandbox = await fresh(t)
    const command = await sandbox.commands.run('wc -c', { background: true, stdin: true })
    for (let i = 0; i < 4; i++) await command.sendStdin('x'.repeat(250_000))
    await command.closeStdin()
    assert.equal((await command.wait()).stdout.trim(), '1000000')
  })

  it('lets its input be closed twice', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox, { stdin: true })
    await command.closeStdin()
    await sandbox.commands.closeStdin(command.pid)
    await go(sandbox)
    await command.wait()
  })

  it('takes no input if it has none', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox)
    await assert.rejects(command.sendStdin('text'), e2b.SandboxError)
    await command.kill()
    await assert.rejects(command.wait())
  })

  it('says that there is no such process', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.commands.sendStdin(999_999, 'text'), e2b.NotFoundError)
    await assert.rejects(sandbox.commands.closeStdin(999_999), e2b.NotFoundError)
    await assert.rejects(sandbox.commands.connect(999_999), e2b.NotFoundError)
  })

  it('has several listeners, who hear the same', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox)
    const second = await sandbox.commands.connect(command.pid)
    const third = await sandbox.commands.connect(command.pid)
    assert.equal(second.pid, command.pid)
    await go(sandbox, 'all')
    const [one, two, three] = await Promise.all([command.wait(), second.wait(), third.wait()])
    assert.equal(one.stdout, 'begun\nended all\n')
    assert.equal(two.stdout, 'ended all\n')  // only what came since
    assert.equal(three.stdout, 'ended all\n')
  })

  it('goes on without its listener, and is found again', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox)
    await command.disconnect()
    assert.ok((await numbers(sandbox)).includes(command.pid))
    const again = await sandbox.commands.connect(command.pid)
    await go(sandbox, 'again')
    assert.equal((await again.wait()).stdout, 'ended again\n')
  })

  it('is never held up by a listener who left', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox, { timeoutMs: 0 },
      'mkfifo go done; echo begun; read word < go; head -c 3000000 /dev/zero | tr "\\0" x; echo all > done')
    await command.disconnect()
    await go(sandbox)
    assert.equal((await sandbox.commands.run('cat done')).stdout, 'all\n')
  })

  it('gives output to a listener who came by another client', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox)
    const other = await e2b.Sandbox.connect(sandbox.sandboxId)
    const heard = new Seen()
    const there = await other.commands.connect(command.pid, { onStdout: heard.push })
    await go(other)
    await there.wait()
    assert.equal(heard.text, 'ended well\n')
  })

  it('can still be asked how it ended for a while', async (t) => {
    const sandbox = await fresh(t)
    const command = await sandbox.commands.run('exit 4', { background: true })
    await assert.rejects(command.wait(), { exitCode: 4 })
    const late = await sandbox.commands.connect(command.pid)
    await assert.rejects(late.wait(), { exitCode: 4 })
  })

  it('ends at its time although its client has left', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox, { timeoutMs: 5000 }, 'echo begun; exec sleep 300')
    await command.disconnect()
    const watching = await sandbox.commands.connect(command.pid, { timeoutMs: 0 })
    await assert.rejects(watching.wait(), { exitCode: -1 })
  })

  it('outlives the time of one who only listens', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox, { timeoutMs: 0 })
    const listen = async () => (await sandbox.commands.connect(command.pid, { timeoutMs: 300 })).wait()
    await assert.rejects(listen, e2b.TimeoutError)
    await go(sandbox)
    await command.wait()
  })

  it('keeps its number and its listeners\' way back over a pause', async (t) => {
    const sandbox = await fresh(t)
    const { command } = await begun(sandbox, { timeoutMs: 0 })
    command.wait().catch(() => {})  // broken by the pause, or not
    await sandbox.pause()
    await sandbox.connect()
    assert.ok((await numbers(sandbox)).includes(command.pid))
    const again = await sandbox.commands.connect(command.pid)
    await go(sandbox, 'awake')
    assert.equal((await again.wait()).stdout, 'ended awake\n')
  })
})
