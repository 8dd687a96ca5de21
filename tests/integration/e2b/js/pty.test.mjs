// Terminals: typed into, resized, shared, ended.
import { assert, describe, e2b, fresh, it, Seen, together } from './support.mjs'

const bytes = (text) => new TextEncoder().encode(text)

async function terminal(t, opts = {}) {
  const sandbox = await fresh(t)
  const screen = new Seen()
  const handle = await sandbox.pty.create({ cols: 80, rows: 24, onData: screen.push, timeoutMs: 0, ...opts })
  const type = (text) => sandbox.pty.sendInput(handle.pid, bytes(text))
  return { sandbox, screen, handle, type }
}

describe('pty', together, () => {
  it('shows what is typed and what it does', async (t) => {
    const { screen, handle, type } = await terminal(t)
    await type('echo $((20 + 22)) is it\n')
    await screen.has('42 is it')
    await type('exit\n')
    assert.equal((await handle.wait()).exitCode, 0)
    assert.ok(screen.text.includes('echo $((20'))  // the terminal echoes
  })

  it('is a terminal of the size and kind asked for', async (t) => {
    const { screen, handle, type } = await terminal(t, { cols: 101, rows: 33 })
    await type('test -t 0 && stty size && echo "kind=$TERM lang=$LANG"; exit\n')
    await handle.wait()
    assert.match(screen.text, /33 101/)
    assert.match(screen.text, /kind=xterm-256color lang=C\.UTF-8/)
  })

  it('can be resized', async (t) => {
    const { sandbox, screen, handle, type } = await terminal(t)
    await sandbox.pty.resize(handle.pid, { cols: 132, rows: 50 })
    await type('stty size; exit\n')
    await handle.wait()
    assert.match(screen.text, /50 132/)
  })

  it('tells its program that it was resized', async (t) => {
    const { sandbox, screen, handle, type } = await terminal(t)
    await type(`trap 'echo now $(stty size)' WINCH; echo trap''ped\n`)
    await screen.has('trapped')
    await sandbox.pty.resize(handle.pid, { cols: 90, rows: 10 })
    await type('\n')
    await screen.has('now 10 90')
    await handle.kill()
    await assert.rejects(handle.wait())
  })

  it('starts where, as whom and with what it is told', async (t) => {
    const { screen, handle, type } = await terminal(t, { user: 'root', cwd: '/tmp', envs: { COLOUR: 'green' } })
    await type('echo "$(id -un):$PWD:$COLOUR"; exit\n')
    await handle.wait()
    assert.match(screen.text, /root:\/tmp:green/)
  })

  it('is user\'s login shell by default', async (t) => {
    const { screen, handle, type } = await terminal(t)
    await type('shopt -q login_shell && echo "login $(id -un) $PWD"; exit\n')
    await handle.wait()
    assert.match(screen.text, /login user \/home\/user/)
  })

  it('hands on an interrupt', async (t) => {
    const { screen, handle, type } = await terminal(t)
    // Said by the program that is to be interrupted: a key typed while bash still starts it would be bash's.
    await type(`sh -c "echo re''ady; exec sleep 300"\n`)
    await screen.has('ready')
    await type('\x03')
    await screen.until((seen) => /\^C[^]*\$ /.test(seen.text), 'the prompt')
    await type('echo code=$((0 + $?))\n')
    await screen.has('code=130')
    await type('exit 0\n')
    await handle.wait()
  })

  it('gives the exit code of its shell', async (t) => {
    const { handle, type } = await terminal(t)
    await type('exit 5\n')
    await assert.rejects(handle.wait(), (error) => error instanceof e2b.CommandExitError && error.exitCode === 5)
  })

  it('can be killed, once', async (t) => {
    const { sandbox, handle } = await terminal(t)
    assert.equal(await sandbox.pty.kill(handle.pid), true)
    await assert.rejects(handle.wait(), { exitCode: -1 })
    assert.equal(await sandbox.pty.kill(handle.pid), false)
  })

  it('is listed beside the commands', async (t) => {
    const { sandbox, handle } = await terminal(t)
    const found = (await sandbox.commands.list()).find(({ pid }) => pid === handle.pid)
    assert.deepEqual([found.cmd, found.args], ['/bin/bash', ['-i', '-l']])
    await handle.kill()
    await assert.rejects(handle.wait())
  })

  it('can be looked at by several', async (t) => {
    const { sandbox, screen, handle, type } = await terminal(t)
    const other = new Seen()
    const second = await sandbox.pty.connect(handle.pid, { onData: other.push })
    await type('echo for$((1 + 1))both\n')
    await screen.has('for2both')
    await other.has('for2both')
    await type('exit\n')
    await Promise.all([handle.wait(), second.wait()])
  })

  it('goes on when its client leaves', async (t) => {
    const { sandbox, screen, handle, type } = await terminal(t)
    await type("KEPT=yes; echo s''et\n")
    await screen.has('set')
    await handle.disconnect()
    const back = new Seen()
    const again = await sandbox.pty.connect(handle.pid, { onData: back.push })
    await type('echo kept=$KEPT; exit\n')
    await again.wait()
    assert.match(back.text, /kept=yes/)
  })

  it('ends at its time', async (t) => {
    await assert.rejects(async () => (await terminal(t, { timeoutMs: 700 })).handle.wait(), e2b.TimeoutError)
  })

  it('says that there is no such terminal', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.pty.sendInput(999_999, bytes('x')), e2b.NotFoundError)
    await assert.rejects(sandbox.pty.resize(999_999, { cols: 10, rows: 10 }), e2b.NotFoundError)
    await assert.rejects(sandbox.pty.connect(999_999, { onData() {} }), e2b.NotFoundError)
    assert.equal(await sandbox.pty.kill(999_999), false)
  })

  it('does not mix terminals with pipes', async (t) => {
    const { sandbox, handle } = await terminal(t)
    await assert.rejects(sandbox.commands.sendStdin(handle.pid, 'x'), e2b.SandboxError)
    await assert.rejects(sandbox.commands.closeStdin(handle.pid), e2b.SandboxError)
    await handle.kill()
    await assert.rejects(handle.wait())
  })
})
