// One port for everything: which sandbox and which of its ports a request is for, who is let in, and
// what is answered when no sandbox is there.
import { randomUUID } from 'node:crypto'
import { api, assert, describe, e2b, fresh, it, plain, Sandbox, Seen, together, url } from './support.mjs'

const to = (sandbox, port, more = {}) => ({ 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': `${port}`, ...more })
const notFound = (sandbox) => ({ sandboxId: sandbox.sandboxId, code: 502,
  message: 'The sandbox was not found, or its ports are private and the request does not show their token' })
const nobody = { sandboxId: 'sb' + '0'.repeat(20) }

// A web server inside, on a port of its own.
async function serving(t, opts = {}) {
  const sandbox = await fresh(t, opts)
  await sandbox.files.write('www/index.html', `page of ${sandbox.sandboxId}`)
  const said = new Seen()
  await sandbox.commands.run(
    `python3 -u -c '
import http.server as h
server = h.ThreadingHTTPServer(("127.0.0.1", 3000), h.SimpleHTTPRequestHandler)
print("up")
server.serve_forever()'`,
    { background: true, cwd: 'www', timeoutMs: 0, onStdout: said.push })
  await said.has('up')
  return sandbox
}

describe('routing', together, () => {
  it('reaches a port by headers', async (t) => {
    const sandbox = await serving(t)
    const answer = await plain('GET', '/', { headers: to(sandbox, 3000) })
    assert.deepEqual([answer.status, answer.text], [200, `page of ${sandbox.sandboxId}`])
  })

  it('reaches a port by the name that the client builds', async (t) => {
    const sandbox = await serving(t)
    const host = sandbox.getHost(3000)
    assert.equal(host, `3000-${sandbox.sandboxId}.localhost:${new URL(url).port}`)
    const answer = await plain('GET', '/', { host })
    assert.deepEqual([answer.status, answer.text], [200, `page of ${sandbox.sandboxId}`])
  })

  it('shows services the host that was asked for', async (t) => {
    const seen = async (network) => {
      const sandbox = await fresh(t, { network })
      const said = new Seen()
      await sandbox.commands.run(
        `python3 -u -c '
import http.server as h
class Shows(h.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (self.headers["Host"] + " " + self.headers["X-Forwarded-Host"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = h.HTTPServer(("127.0.0.1", 3000), Shows)
print("up")
server.serve_forever()'`, { background: true, timeoutMs: 0, onStdout: said.push })
      await said.has('up')
      assert.equal((await sandbox.getInfo()).network.maskRequestHost, network.maskRequestHost)
      const [host, forwarded] = (await plain('GET', '/', { host: sandbox.getHost(3000) })).text.split(' ')
      assert.equal(forwarded, sandbox.getHost(3000))
      assert.equal((await plain('GET', '/', { headers: to(sandbox, 3000) })).text.split(' ')[0], host)
      return host
    }
    assert.equal(await seen({}), 'localhost:3000')
    assert.equal(await seen({ maskRequestHost: '${PORT}-app.example.com' }), '3000-app.example.com')
    assert.equal(await seen({ maskRequestHost: 'localhost:${PORT}' }), 'localhost:3000')
    await assert.rejects(Sandbox.create({ network: { maskRequestHost: 'a b' } }), /maskRequestHost/)
  })

  it('says that nothing listens there', async (t) => {
    const sandbox = await fresh(t)
    const answer = await plain('GET', '/', { headers: to(sandbox, 3001) })
    assert.equal(answer.status, 502)
    assert.deepEqual(JSON.parse(answer.text), { sandboxId: sandbox.sandboxId,
      message: 'The sandbox is running but port is not open', port: 3001, code: 502 })
  })

  it('says that there is no such sandbox, whatever is asked of it', async (t) => {
    const gone = await fresh(t)
    await gone.kill()
    const paused = await fresh(t)
    await paused.pause()
    for (const sandbox of [nobody, gone, paused]) {
      for (const [method, path, port] of [['GET', '/health', 49983], ['GET', '/health', 49999], ['GET', '/', 3000],
        ['POST', '/process.Process/List', 49983], ['GET', '/files?path=f', 49983], ['POST', '/execute', 49999]]) {
        const answer = await plain(method, path, { headers: to(sandbox, port) })
        assert.equal(answer.status, 502, `${method} ${path}: ${answer.text}`)
        assert.deepEqual(JSON.parse(answer.text), notFound(sandbox))
      }
    }
  })

  it('tells both planes\' health apart', async (t) => {
    const sandbox = await fresh(t)
    assert.equal((await plain('GET', '/health', { headers: to(sandbox, 49983) })).status, 204)
    const interpreter = await plain('GET', '/health', { headers: to(sandbox, 49999) })
    assert.deepEqual([interpreter.status, interpreter.text], [200, '"OK"'])
    assert.equal((await plain('GET', '/health', { host: `49983-${sandbox.sandboxId}.localhost` })).status, 204)
  })

  it('asks for the sandbox\'s token', async (t) => {
    const [one, two] = await Promise.all([fresh(t), fresh(t)])
    const list = (sandbox, token) => plain('POST', '/process.Process/List', {
      headers: to(sandbox, 49983, { 'Content-Type': 'application/json', ...(token && { 'X-Access-Token': token }) }), body: '{}' })
    assert.equal((await list(one, one.envdAccessToken)).status, 200)
    for (const token of [undefined, two.envdAccessToken, 'ea_nonsense', one.envdAccessToken.slice(0, -1)]) {
      const answer = await list(one, token)
      assert.equal(answer.status, 401, answer.text)
      assert.equal(JSON.parse(answer.text).code, 401)
    }
  })

  it('tells the client that its token is wrong', async (t) => {
    const sandbox = await fresh(t)
    const other = new Sandbox({ sandboxId: sandbox.sandboxId, envdVersion: '0.6.13', envdAccessToken: 'ea_wrong' })
    await assert.rejects(other.commands.run('true'), e2b.AuthenticationError)
    await assert.rejects(other.commands.list(), e2b.AuthenticationError)
    await assert.rejects(other.files.read('f'), e2b.AuthenticationError)
    assert.equal(await other.isRunning(), true)  // this needs no request to the sandbox
  })

  it('keeps the token over pauses and connects', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.pause()
    const again = await Sandbox.connect(sandbox.sandboxId)
    assert.equal(again.envdAccessToken, sandbox.envdAccessToken)
  })

  it('does not take a key of the API for a token, nor the other way round', async (t) => {
    const sandbox = await fresh(t)
    const answer = await api('POST', '/process.Process/List', {
      headers: to(sandbox, 49983, { 'Content-Type': 'application/json' }), body: '{}' })
    assert.equal(answer.status, 401)
    await assert.rejects(Sandbox.getInfo(sandbox.sandboxId, { apiKey: sandbox.envdAccessToken }), e2b.AuthenticationError)
  })

  it('keeps ports to itself when asked to', async (t) => {
    const sandbox = await serving(t, { network: { allowPublicTraffic: false } })
    assert.ok(sandbox.trafficAccessToken)
    // As if it did not exist: ids cannot be probed, at envd's port neither.
    for (const port of [3000, 49983, 49999]) {
      for (const token of [{}, { 'e2b-traffic-access-token': 'wrong', 'X-Access-Token': 'ea_wrong' }]) {
        const refused = await plain('GET', '/health', { headers: to(sandbox, port, token) })
        assert.equal(refused.status, 502, refused.text)
        assert.deepEqual(JSON.parse(refused.text), notFound(sandbox))
      }
    }
    const right = await plain('GET', '/', { headers: to(sandbox, 3000, { 'e2b-traffic-access-token': sandbox.trafficAccessToken }) })
    assert.deepEqual([right.status, right.text], [200, `page of ${sandbox.sandboxId}`])
    assert.equal((await sandbox.commands.run('echo in')).stdout, 'in\n')  // that has its own token
    assert.equal(await sandbox.isRunning(), true)
  })

  it('has no such token otherwise', async (t) => {
    assert.equal((await fresh(t)).trafficAccessToken, undefined)
  })

  it('never shows what is for the host only', async (t) => {
    const sandbox = await fresh(t)
    for (const path of ['/init', '/freeze', '/unfreeze']) {
      const answer = await plain('POST', path, { headers: to(sandbox, 49983, { 'X-Access-Token': sandbox.envdAccessToken }), body: '{}' })
      assert.equal(answer.status, 404, `${path}: ${answer.text}`)
    }
  })

  it('tells the sandbox\'s variables to who has the token', async (t) => {
    const sandbox = await fresh(t, { envs: { SHARED: 'value' } })
    const answer = await plain('GET', '/envs', { headers: to(sandbox, 49983, { 'X-Access-Token': sandbox.envdAccessToken }) })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(JSON.parse(answer.text).SHARED, 'value')
    assert.equal((await plain('GET', '/envs', { headers: to(sandbox, 49983) })).status, 401)
  })

  it('measures the sandbox from inside', async (t) => {
    const sandbox = await fresh(t)
    const answer = await plain('GET', '/metrics', { headers: to(sandbox, 49983, { 'X-Access-Token': sandbox.envdAccessToken }) })
    const told = JSON.parse(answer.text)
    for (const name of ['ts', 'cpu_count', 'cpu_used_pct', 'mem_total', 'mem_used', 'disk_used', 'disk_total']) {
      assert.equal(typeof told[name], 'number', name)
    }
  })

  it('answers mistakes of the control plane in one form', async () => {
    const mistakes = [
      ['POST', '/v2/sandboxes', 'no json', 400], ['POST', '/v2/sandboxes', '[]', 400],
      ['POST', '/v2/sandboxes', '{"templateID":"base","timeout":"x"}', 400],
      ['GET', `/sandboxes/${nobody.sandboxId}`, undefined, 404], ['DELETE', `/sandboxes/${nobody.sandboxId}`, undefined, 404],
      ['GET', '/v2/sandboxes?order=sideways', undefined, 400], ['GET', '/v2/sandboxes?state=dead', undefined, 400],
    ]
    for (const [method, path, body, status] of mistakes) {
      const answer = await api(method, path, { body, headers: { 'Content-Type': 'application/json' } })
      assert.equal(answer.status, status, `${method} ${path} ${body}: ${answer.text}`)
      const told = JSON.parse(answer.text)
      assert.equal(told.code, status)
      assert.ok(told.message)
    }
  })

  it('lets one key not see another\'s sandboxes', async (t) => {
    const sandbox = await fresh(t)
    const body = JSON.stringify({ name: randomUUID(), project: `project-${randomUUID().slice(0, 8)}` })
    const made = await api('POST', '/v1/keys', { body, headers: { 'Content-Type': 'application/json' } })
    assert.equal(made.status, 201, made.text)
    const apiKey = JSON.parse(made.text).key.replace(/^gbx_/, 'e2b_')
    await assert.rejects(Sandbox.getInfo(sandbox.sandboxId, { apiKey }), e2b.SandboxNotFoundError)
    await assert.rejects(Sandbox.connect(sandbox.sandboxId, { apiKey }), e2b.SandboxNotFoundError)
    assert.equal(await Sandbox.kill(sandbox.sandboxId, { apiKey }), false)
    assert.deepEqual(await Sandbox.list({ apiKey }).nextItems(), [])
    assert.equal(await sandbox.isRunning(), true)
  })
})
