// Commands that are waited for: what they print, how they end, as whom and where they run.
import { createHash } from 'node:crypto'
import { assert, describe, e2b, fresh, it, Seen, together } from './support.mjs'

describe('commands', together, () => {
  it('gives the output and the exit code', async (t) => {
    const sandbox = await fresh(t)
    const result = await sandbox.commands.run('echo hello; printf more')
    assert.deepEqual([result.exitCode, result.stdout, result.stderr], [0, 'hello\nmore', ''])
    assert.equal(result.error, undefined)
  })

  it('keeps the two outputs apart', async (t) => {
    const sandbox = await fresh(t)
    const result = await sandbox.commands.run('echo out; echo err >&2; echo out again')
    assert.deepEqual([result.stdout, result.stderr], ['out\nout again\n', 'err\n'])
  })

  it('throws what failed, with all that was printed', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.commands.run('echo some; echo why >&2; exit 3'), (error) => {
      assert.ok(error instanceof e2b.CommandExitError)
      assert.deepEqual([error.exitCode, error.stdout, error.stderr], [3, 'some\n', 'why\n'])
      assert.equal(error.error, 'exit status 3')
      return true
    })
  })

  it('says 127 for a command that is not there', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.commands.run('no-such-command-here'), { exitCode: 127 })
  })

  it('says which signal ended a command', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.commands.run('kill -TERM $$'), (error) => {
      assert.ok(error instanceof e2b.CommandExitError)
      assert.deepEqual([error.exitCode, error.error], [-1, 'signal: terminated'])
      return true
    })
  })

  it('hands output on while the command runs', async (t) => {
    const sandbox = await fresh(t)
    const out = new Seen()
    const err = new Seen()
    const command = await sandbox.commands.run('echo first; read line; echo "second $line"; echo bad >&2',
      { background: true, stdin: true, onStdout: out.push, onStderr: err.push })
    await out.has('first\n')  // it cannot have ended: it reads
    await command.sendStdin('answer\n')
    await command.wait()
    assert.equal(out.text, 'first\nsecond answer\n')
    assert.equal(err.text, 'bad\n')
  })

  it('runs as user in its home by default', async (t) => {
    const sandbox = await fresh(t)
    const { stdout } = await sandbox.commands.run('id -un; pwd; echo $HOME $USER $LOGNAME')
    assert.equal(stdout, 'user\n/home/user\n/home/user user user\n')
  })

  it('runs as root when asked', async (t) => {
    const sandbox = await fresh(t)
    const { stdout } = await sandbox.commands.run('id -u; echo $HOME $USER', { user: 'root' })
    assert.equal(stdout, '0\n/root root\n')
  })

  it('refuses a user who is not there', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.commands.run('true', { user: 'nobody-here' }), e2b.AuthenticationError)
  })

  it('lets user become root by sudo', async (t) => {
    const sandbox = await fresh(t)
    assert.equal((await sandbox.commands.run('sudo -n id -u')).stdout, '0\n')
  })

  it('has what templates of E2B have', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.commands.run('for tool in bash python3 sudo git curl ls cat; do command -v $tool || exit 1; done')
  })

  it('runs in the directory asked for, also one relative to home', async (t) => {
    const sandbox = await fresh(t)
    assert.equal((await sandbox.commands.run('pwd', { cwd: '/tmp' })).stdout, '/tmp\n')
    await sandbox.commands.run('mkdir -p work/deep')
    assert.equal((await sandbox.commands.run('pwd', { cwd: 'work/deep' })).stdout, '/home/user/work/deep\n')
    assert.equal((await sandbox.commands.run('pwd', { cwd: '~/work' })).stdout, '/home/user/work\n')
  })

  it('refuses a directory that is not there', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.commands.run('pwd', { cwd: '/no/such' }), (error) => {
      assert.ok(error instanceof e2b.InvalidArgumentError, error)
      assert.match(error.message, /cwd '\/no\/such' does not exist/)
      return true
    })
  })

  it('gives variables to one command and not to the next', async (t) => {
    const sandbox = await fresh(t)
    const { stdout } = await sandbox.commands.run('echo "$ONE|$TWO"', { envs: { ONE: 'a b', TWO: '$HOME "q"' } })
    assert.equal(stdout, 'a b|$HOME "q"\n')
    assert.equal((await sandbox.commands.run('echo "[$ONE]"')).stdout, '[]\n')
  })

  it('gives the sandbox\'s variables to every command, its own win', async (t) => {
    const sandbox = await fresh(t, { envs: { SHARED: 'sandbox', OTHER: 'stays' } })
    const line = 'echo $SHARED $OTHER'
    assert.equal((await sandbox.commands.run(line)).stdout, 'sandbox stays\n')
    assert.equal((await sandbox.commands.run(line, { envs: { SHARED: 'own' } })).stdout, 'own stays\n')
  })

  it('says inside which sandbox it is', async (t) => {
    const sandbox = await fresh(t)
    const { stdout } = await sandbox.commands.run('echo $E2B_SANDBOX $E2B_SANDBOX_ID $E2B_TEMPLATE_ID')
    assert.equal(stdout, `true ${sandbox.sandboxId} base\n`)
  })

  it('reads nothing when it was given no input', async (t) => {
    const sandbox = await fresh(t)
    assert.equal((await sandbox.commands.run('cat; echo end')).stdout, 'end\n')
  })

  it('keeps letters of several bytes whole', async (t) => {
    const sandbox = await fresh(t)
    const { stdout } = await sandbox.commands.run(`python3 -c 'print("aä€😀" * 20000, end="")'`)
    assert.equal(stdout, 'aä€😀'.repeat(20000))
  })

  it('does not stumble over bytes that are no text', async (t) => {
    const sandbox = await fresh(t)
    const { stdout } = await sandbox.commands.run(String.raw`printf 'a\377b\n\303'`)
    assert.equal(stdout, 'a\ufffdb\n\ufffd')
  })

  it('delivers megabytes, none lost', async (t) => {
    const sandbox = await fresh(t)
    const { stdout } = await sandbox.commands.run(
      `python3 -c 'for i in range(400000): print(i)' | tee numbers; sha256sum < numbers >&2`)
    const { stdout: sum } = await sandbox.commands.run('sha256sum < numbers')
    assert.ok(stdout.length > 2_500_000)
    assert.equal(createHash('sha256').update(stdout).digest('hex'), sum.split(' ')[0])
  })

  it('runs many at once, each with its own output', async (t) => {
    const sandbox = await fresh(t)
    const all = await Promise.all([...Array(16).keys()].map((n) => sandbox.commands.run(`echo ${n}; exit 0`)))
    assert.deepEqual(all.map((one) => one.stdout), [...Array(16).keys()].map((n) => `${n}\n`))
  })

  it('keeps files and background processes for the next command', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.commands.run('echo kept > file; sleep 300 > /dev/null 2>&1 & echo $! > pid')
    assert.equal((await sandbox.commands.run('cat file; kill -0 $(cat pid) && echo lives')).stdout, 'kept\nlives\n')
  })

  it('ends a command at its time, with all that it started', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.commands.run('sleep 300', { timeoutMs: 700 }), e2b.TimeoutError)
    // The client's own clock may be a little ahead of the server's.
    for (const { pid, args } of await sandbox.commands.list()) {
      if (args.includes('sleep 300')) await assert.rejects((await sandbox.commands.connect(pid)).wait(), { exitCode: -1 })
    }
    await assert.rejects(sandbox.commands.run('pgrep -x sleep'), { exitCode: 1 })
  })

  it('has no time limit when told 0', async (t) => {
    const sandbox = await fresh(t)
    assert.equal((await sandbox.commands.run('echo free', { timeoutMs: 0 })).stdout, 'free\n')
  })

  it('works for git, which the client drives by commands', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.git.init('/home/user/repository', { initialBranch: 'main' })
    await sandbox.git.configureUser('A Tester', 'tester@example.com', { scope: 'global' })
    await sandbox.files.write('/home/user/repository/a.txt', 'text')
    await sandbox.git.add('/home/user/repository')
    await sandbox.git.commit('/home/user/repository', 'first')
    const status = await sandbox.git.status('/home/user/repository')
    assert.equal(status.currentBranch, 'main')
    assert.equal(status.isClean, true)
  })

  it('says that the sandbox was killed when it is, under a running command', async (t) => {
    const sandbox = await fresh(t)
    const out = new Seen()
    const command = await sandbox.commands.run('echo begun; sleep 300', { background: true, onStdout: out.push })
    await out.has('begun')
    await sandbox.kill()
    await assert.rejects(command.wait(), (error) => {
      assert.ok(error instanceof e2b.TimeoutError, error)
      assert.match(error.message, /killed|end of life/)
      return true
    })
  })

  it('says that there is no sandbox any more', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.kill()
    await assert.rejects(sandbox.commands.run('true'), e2b.SandboxNotFoundError)
    await assert.rejects(sandbox.commands.list(), e2b.TimeoutError)
  })
})
