// A sandbox's life: made, looked at, given time, paused, woken, ended; and who may do that.
import { api, assert, describe, e2b, ended, fresh, it, plain, Sandbox, Seen, together } from './support.mjs'

const nobody = 'sb' + '0'.repeat(20)

// A stream that the sandbox's end, or its pause, cuts: `over` is why.
async function streaming(sandbox) {
  const out = new Seen()
  const command = await sandbox.commands.run('echo begun; exec sleep 1000',
    { background: true, timeoutMs: 0, onStdout: out.push })
  await out.has('begun')
  return { over: command.wait().catch((error) => error) }
}

// As the server says it: the client leaves out what it does not know.
const plainInfo = async (sandbox) => JSON.parse((await api('GET', `/sandboxes/${sandbox.sandboxId}`)).text)

describe('lifecycle', together, () => {
  it('makes a sandbox of the default template', async (t) => {
    const sandbox = ended(t, await Sandbox.create({ timeoutMs: 60_000 }))
    assert.match(sandbox.sandboxId, /^[a-z0-9]+$/)
    const info = await sandbox.getInfo()
    assert.deepEqual([info.sandboxId, info.templateId, info.state], [sandbox.sandboxId, 'base', 'running'])
    assert.match(info.envdVersion, /^\d+\.\d+\.\d+$/)
    assert.ok(info.cpuCount > 0 && info.memoryMB > 0)
    assert.deepEqual(info.lifecycle, { onTimeout: 'kill', autoResume: false })
  })

  it('has five minutes when nothing is said', async (t) => {
    const sandbox = ended(t, await Sandbox.create())
    const { startedAt, endAt } = await sandbox.getInfo()
    assert.ok(Math.abs(endAt - startedAt - 300_000) < 2000, `${endAt - startedAt}`)
  })

  it('gives metadata back as it was given', async (t) => {
    const metadata = { job: '42', 'with space': 'a=b&c', 'ä': '€😀', empty: '' }
    const sandbox = await fresh(t, { metadata })
    assert.deepEqual((await sandbox.getInfo()).metadata, metadata)
  })

  it('has no metadata when none was given', async (t) => {
    assert.deepEqual((await (await fresh(t)).getInfo()).metadata, {})
  })

  it('takes templates by their own name and by E2B\'s', async (t) => {
    const data = await fresh(t, {}, 'code-interpreter-v1')
    assert.equal((await data.getInfo()).name, 'code-interpreter-v1')
    const own = await fresh(t, {}, 'python')
    assert.equal((await own.commands.run('echo own')).stdout, 'own\n')
  })

  it('says that there is no such template', async () => {
    await assert.rejects(Sandbox.create('no-such-template'), (error) => {
      assert.equal(error.statusCode ?? 404, 404)
      assert.match(error.message, /404.*no-such-template/s)
      return true
    })
  })

  it('knows which templates there are', async () => {
    assert.equal(await e2b.Template.exists('base'), true)
    assert.equal(await e2b.Template.exists('code-interpreter-v1'), true)
    assert.equal(await e2b.Template.exists('no-such-template'), false)
  })

  it('lists its templates, and builds none', async () => {
    const listed = JSON.parse((await api('GET', '/templates')).text)
    const named = listed.flatMap(({ templateID, aliases = [], names = [] }) => [templateID, ...aliases, ...names])
    for (const name of ['base', 'code-interpreter-v1']) assert.ok(named.includes(name), JSON.stringify(listed))
    for (const ask of [
      () => e2b.Template.build(e2b.Template().fromTemplate('base'), 'mine'),
      () => e2b.Template.assignTags('base', ['a']),
      () => e2b.Template.removeTags('base', ['a']),
      () => e2b.Template.getTags('base'),
    ]) {
      await assert.rejects(ask(), (error) => {
        assert.match(`${error.statusCode ?? ''} ${error.message}`, /501/)
        return true
      })
    }
  })

  it('is running until it is killed', async (t) => {
    const sandbox = await fresh(t)
    assert.equal(await sandbox.isRunning(), true)
    assert.equal(await sandbox.kill(), true)
    assert.equal(await sandbox.isRunning(), false)
    assert.equal(await sandbox.kill(), false)
    await assert.rejects(sandbox.getInfo(), e2b.SandboxNotFoundError)
  })

  it('is killed by its name as well', async (t) => {
    const sandbox = await fresh(t)
    assert.equal(await Sandbox.kill(sandbox.sandboxId), true)
    assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
  })

  it('says that there is no such sandbox', async () => {
    for (const id of [nobody, 'x', 'with-dash', 'sb../..']) {
      assert.equal(await Sandbox.kill(id), false)
      await assert.rejects(Sandbox.getInfo(id), e2b.SandboxNotFoundError)
      await assert.rejects(Sandbox.setTimeout(id, 1000), e2b.SandboxNotFoundError)
      await assert.rejects(Sandbox.connect(id), e2b.SandboxNotFoundError)
      await assert.rejects(Sandbox.pause(id), e2b.SandboxNotFoundError)
      await assert.rejects(Sandbox.getMetrics(id), e2b.SandboxNotFoundError)
      await assert.rejects(Sandbox.createSnapshot(id), e2b.SandboxNotFoundError)
      await assert.rejects(Sandbox.fork(id), e2b.SandboxNotFoundError)
    }
  })

  it('refuses requests without a key', async () => {
    for (const apiKey of ['e2b_' + '0'.repeat(40), 'nonsense']) {
      await assert.rejects(Sandbox.create({ apiKey }), e2b.AuthenticationError)
      await assert.rejects(Sandbox.getInfo(nobody, { apiKey }), e2b.AuthenticationError)
      await assert.rejects(Sandbox.list({ apiKey }).nextItems(), e2b.AuthenticationError)
    }
  })

  it('gives time and takes it', async (t) => {
    const sandbox = await fresh(t, { timeoutMs: 60_000 })
    const left = async () => (await sandbox.getInfo()).endAt - Date.now()
    await sandbox.setTimeout(600_000)
    assert.ok(Math.abs(await left() - 600_000) < 5000)
    await sandbox.setTimeout(30_000)
    assert.ok(Math.abs(await left() - 30_000) < 5000)
  })

  it('is killed when its time is over', async (t) => {
    const sandbox = await fresh(t, { timeoutMs: 4000 })
    const error = await (await streaming(sandbox)).over
    assert.ok(error instanceof e2b.TimeoutError, error)
    assert.equal(await sandbox.isRunning(), false)
    await assert.rejects(sandbox.getInfo(), e2b.SandboxNotFoundError)
  })

  it('is over at once with no time at all', async (t) => {
    const sandbox = await fresh(t)
    const stream = await streaming(sandbox)
    await sandbox.setTimeout(0)
    assert.ok((await stream.over) instanceof e2b.TimeoutError)
    assert.equal(await sandbox.isRunning(), false)
  })

  it('is connected to by its name', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'mine')
    const other = await Sandbox.connect(sandbox.sandboxId)
    assert.equal(other.sandboxId, sandbox.sandboxId)
    assert.equal(await other.files.read('f'), 'mine')
  })

  it('gets more time from who connects, never less', async (t) => {
    const sandbox = await fresh(t, { timeoutMs: 200_000 })
    const before = (await sandbox.getInfo()).endAt
    await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 10_000 })
    assert.deepEqual((await sandbox.getInfo()).endAt, before)
    await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 900_000 })
    assert.ok((await sandbox.getInfo()).endAt - before > 600_000)
  })

  it('can be paused, once', async (t) => {
    const sandbox = await fresh(t)
    assert.equal(await sandbox.pause(), true)
    assert.equal((await sandbox.getInfo()).state, 'paused')
    assert.equal(await sandbox.isRunning(), false)
    assert.equal(await sandbox.pause(), false)
    await assert.rejects(sandbox.commands.run('true'), e2b.SandboxNotFoundError)
  })

  it('wakes when connected to, as it was', async (t) => {
    const sandbox = await fresh(t, { metadata: { kept: 'yes' }, envs: { KEPT: 'too' } })
    await sandbox.files.write('f', 'before')
    await sandbox.pause()
    const woken = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 60_000 })
    const info = await woken.getInfo()
    assert.deepEqual([info.state, info.metadata], ['running', { kept: 'yes' }])
    assert.ok(Math.abs(info.endAt - Date.now() - 60_000) < 5000)
    assert.equal((await woken.commands.run('cat f; echo " $KEPT"')).stdout, 'before too\n')
    assert.equal(await sandbox.files.read('f'), 'before')  // who came before is let in, too
  })

  it('is paused by its name as well', async (t) => {
    const sandbox = await fresh(t)
    assert.equal(await Sandbox.pause(sandbox.sandboxId), true)
    await sandbox.connect()
    assert.equal(await sandbox.isRunning(), true)
  })

  it('is killed while paused', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.pause()
    assert.equal(await sandbox.kill(), true)
    await assert.rejects(Sandbox.connect(sandbox.sandboxId), e2b.SandboxNotFoundError)
  })

  it('is paused instead of killed when it was made so', async (t) => {
    const sandbox = await fresh(t, { timeoutMs: 4000, lifecycle: { onTimeout: 'pause' } })
    assert.deepEqual((await sandbox.getInfo()).lifecycle, { onTimeout: 'pause', autoResume: false })
    await sandbox.files.write('f', 'kept')
    await (await streaming(sandbox)).over
    assert.equal((await sandbox.getInfo()).state, 'paused')
    await sandbox.connect({ timeoutMs: 60_000 })
    assert.equal(await sandbox.files.read('f'), 'kept')
  })

  it('wakes by itself for who comes, when it was made so', async (t) => {
    const sandbox = await fresh(t, { lifecycle: { onTimeout: 'pause', autoResume: true } })
    assert.deepEqual((await sandbox.getInfo()).lifecycle, { onTimeout: 'pause', autoResume: true })
    assert.deepEqual((await sandbox.getInfo()).metadata, {})
    await sandbox.pause()
    assert.equal((await sandbox.commands.run('echo awake')).stdout, 'awake\n')
    assert.equal((await sandbox.getInfo()).state, 'running')
  })

  // A process that has left its parents and its session, and ignores what it can.
  const daemon = `setsid sh -c 'trap "" TERM HUP INT; echo $$ > daemon; while :; do sleep 1; done' > /dev/null 2>&1 &`
  const started = (sandbox) =>
    sandbox.commands.run(`rm -f daemon; ${daemon} until [ -s daemon ]; do sleep 0.01; done; kill -0 $(cat daemon)`)
  const isAlive = async (sandbox) =>
    (await sandbox.commands.run('kill -0 $(cat daemon) 2> /dev/null && echo alive || echo ended')).stdout.trim() === 'alive'

  it('keeps only its files when it is paused without its memory', async (t) => {
    const sandbox = await fresh(t)
    const token = (await plainInfo(sandbox)).envdAccessToken
    await sandbox.files.write('kept.txt', 'kept')
    await sandbox.commands.run('echo sudo | sudo tee /etc/kept > /dev/null')
    await started(sandbox)
    assert.equal(await isAlive(sandbox), true)
    const background = await sandbox.commands.run('sleep 1000', { background: true })
    await sandbox.pause({ keepMemory: false })
    assert.equal((await plainInfo(sandbox)).pauseMode, 'filesystem')
    assert.equal(await sandbox.isRunning(), false)
    assert.equal((await plainInfo(sandbox)).state, 'paused')
    await sandbox.connect()
    assert.equal(await isAlive(sandbox), false)
    assert.equal(await sandbox.commands.kill(background.pid), false)
    assert.deepEqual(await sandbox.commands.list(), [])
    assert.equal(await sandbox.files.read('kept.txt'), 'kept')
    assert.equal((await sandbox.commands.run('cat /etc/kept')).stdout, 'sudo\n')
    assert.equal((await plainInfo(sandbox)).envdAccessToken, token)
  })

  it('keeps its processes otherwise, unless the resume is a reboot', async (t) => {
    const sandbox = await fresh(t)
    await started(sandbox)
    await sandbox.pause({ keepMemory: true })
    assert.equal((await plainInfo(sandbox)).pauseMode, 'full')
    await sandbox.connect()
    assert.equal(await isAlive(sandbox), true)
    await sandbox.pause()
    await sandbox.connect({ onResume: 'reboot' })
    assert.equal(await isAlive(sandbox), false)
    // A sandbox that runs is not rebooted.
    await started(sandbox)
    await sandbox.connect({ onResume: 'reboot' })
    assert.equal(await isAlive(sandbox), true)
  })

  it('keeps only its files at its timeout when it was made so', async (t) => {
    const sandbox = await fresh(t, { lifecycle: { onTimeout: { action: 'pause', keepMemory: false } } })
    await sandbox.files.write('kept.txt', 'kept')
    await started(sandbox)
    await sandbox.setTimeout(0)
    assert.equal((await plainInfo(sandbox)).pauseMode, 'filesystem')
    await sandbox.connect()
    assert.equal(await isAlive(sandbox), false)
    assert.equal(await sandbox.files.read('kept.txt'), 'kept')
    await assert.rejects(Sandbox.create({ lifecycle: { onTimeout: { action: 'pause', keepMemory: false }, autoResume: true } }))
  })

  it('measures what it uses', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.commands.run('head -c 3000000 /dev/urandom > f')
    const [metrics] = (await sandbox.getMetrics()).slice(-1)
    assert.ok(metrics.cpuCount > 0 && metrics.memTotal > 0 && metrics.diskTotal > 0, JSON.stringify(metrics))
    assert.ok(metrics.memUsed > 0 && metrics.memUsed <= metrics.memTotal && metrics.cpuUsedPct >= 0)
    assert.ok(metrics.diskUsed >= 3_000_000)
    assert.ok(Math.abs(metrics.timestamp - Date.now()) < 60_000)
  })

  it('starts an MCP gateway where the template has one', async (t) => {
    const first = await fresh(t)
    // Goes on in the background once it serves, as the original does.
    await first.files.write('/usr/local/bin/mcp-gateway', `#!/usr/bin/python3
import http.server, json, os, sys
assert sys.argv[1] == "--config" and os.getuid() == 0
config, token = json.loads(sys.argv[2]), os.environ["GATEWAY_ACCESS_TOKEN"]
os.makedirs("/etc/mcp-gateway", exist_ok=True)
open("/etc/mcp-gateway/.token", "w").write(token)
class Gateway(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        good = self.headers["Authorization"] == "Bearer " + token and self.path == "/mcp"
        body = json.dumps(list(config)).encode()
        self.send_response(200 if good else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 50005), Gateway)
if os.fork(): os._exit(0)
os.setsid()
for fd in range(3): os.dup2(os.open(os.devnull, os.O_RDWR), fd)
server.serve_forever()
`, { user: 'root' })
    await first.commands.run('chmod 755 /usr/local/bin/mcp-gateway', { user: 'root' })
    const snapshot = await first.createSnapshot({ name: 'mcp-gateway' })
    t.after(() => Sandbox.deleteSnapshot(snapshot.snapshotId))
    // The client names no template: it then asks for "mcp-gateway".
    const sandbox = ended(t, await Sandbox.create({ mcp: { weather: { key: "it's" } }, timeoutMs: 60_000 }))
    assert.ok(sandbox.getMcpUrl().endsWith('/mcp'))
    const call = (token) => plain('POST', '/mcp', { headers: { Authorization: `Bearer ${token}`,
      'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '50005' } })
    const answer = await call(await sandbox.getMcpToken())
    assert.deepEqual([answer.status, answer.text], [200, '["weather"]'])
    assert.equal((await call('another')).status, 401)
    const again = await Sandbox.connect(sandbox.sandboxId)
    assert.equal(await again.getMcpToken(), await sandbox.getMcpToken())
  })

  it('is gone, with the error of the client, where the template has no MCP gateway', async (t) => {
    const mine = { marked: `mcp-${Date.now()}` }
    for (const more of [{ template: 'base' }, { template: 'code-interpreter-v1' }]) {
      await assert.rejects(Sandbox.create({ ...more, mcp: { weather: {} }, metadata: mine }), (error) =>
        error instanceof e2b.SandboxError && /Failed to start MCP gateway: .*mcp-gateway.*not found/.test(error.message))
    }
    assert.deepEqual(await Sandbox.list({ query: { metadata: mine } }).nextItems(), [])
  })

  it('says what a server on one machine does not have', async (t) => {
    await assert.rejects(Sandbox.create({ volumeMounts: { '/mnt/v': 'volume' } }), e2b.SandboxError)
    await assert.rejects(Sandbox.create({ network: { allowOut: ['1.1.1.1'] } }), e2b.SandboxError)
    await assert.rejects(e2b.Volume.create('volume'), e2b.VolumeError)
    await assert.rejects(e2b.Secret.list().nextItems(), e2b.SecretError)
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.updateNetwork({ allowOut: ['1.1.1.1'] }), e2b.SandboxError)
  })

  it('takes what it has no use for but cannot hurt', async (t) => {
    const sandbox = await fresh(t, { allowInternetAccess: true, secure: true })
    assert.equal(await sandbox.isRunning(), true)
  })

  it('refuses a time that makes no sense', async () => {
    await assert.rejects(Sandbox.create({ timeoutMs: 0 }), e2b.SandboxError)
    await assert.rejects(Sandbox.create({ timeoutMs: -5000 }), e2b.SandboxError)
  })

  it('stays as it was when a pause comes twice at once', async (t) => {
    const sandbox = await fresh(t)
    const both = await Promise.all([sandbox.pause(), sandbox.pause()])
    assert.deepEqual(both.sort(), [false, true])
    await Promise.all([sandbox.connect(), Sandbox.connect(sandbox.sandboxId)])
    assert.equal((await sandbox.commands.run('echo one')).stdout, 'one\n')
  })

  it('is made many times at once', async (t) => {
    const made = await Promise.all([...Array(6)].map(() => fresh(t)))
    assert.equal(new Set(made.map(({ sandboxId }) => sandboxId)).size, 6)
    const said = await Promise.all(made.map((sandbox, n) => sandbox.commands.run(`echo ${n}`)))
    assert.deepEqual(said.map(({ stdout }) => stdout), [0, 1, 2, 3, 4, 5].map((n) => `${n}\n`))
  })

  it('is reached through the client object as well', async (t) => {
    const client = new e2b.E2B({})
    const sandbox = ended(t, await client.Sandbox.create({ timeoutMs: 60_000 }))
    assert.equal((await sandbox.commands.run('echo object')).stdout, 'object\n')
  })
})
