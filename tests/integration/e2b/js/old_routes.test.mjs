// A client of the generation before: /sandboxes instead of /v2/sandboxes, and its shorter default.
import { api, assert, describe, e2b, fresh, it, json, Sandbox, together } from './support.mjs'

describe('old routes', together, () => {
  it('makes a sandbox and uses it', async (t) => {
    const sandbox = await fresh(t, { metadata: { a: 'b' }, envs: { X: 'y' } })
    assert.equal((await sandbox.commands.run('echo $X')).stdout, 'y\n')
    await sandbox.files.write('f', 'text')
    assert.equal(await sandbox.files.read('f'), 'text')
    assert.deepEqual((await sandbox.getInfo()).metadata, { a: 'b' })
  })

  it('connects to one that runs, and gives it more time', async (t) => {
    const sandbox = await fresh(t, { timeoutMs: 60_000 })
    const before = (await sandbox.getInfo()).endAt
    const other = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 })
    assert.equal(other.sandboxId, sandbox.sandboxId)
    assert.ok((await other.getInfo()).endAt - before > 300_000)
    await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 1000 })
    assert.ok((await other.getInfo()).endAt - before > 300_000)
  })

  it('wakes one that is paused', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'kept')
    await sandbox.pause()
    const woken = await Sandbox.connect(sandbox.sandboxId)
    assert.equal(await woken.files.read('f'), 'kept')
  })

  it('lists and kills', async (t) => {
    const metadata = { only: `${process.pid}` }
    const sandbox = await fresh(t, { metadata })
    const found = await Sandbox.list({ query: { metadata } }).nextItems()
    assert.deepEqual(found.map(({ sandboxId }) => sandboxId), [sandbox.sandboxId])
    assert.equal(await Sandbox.kill(sandbox.sandboxId), true)
    assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
  })

  it('says that there is no such sandbox', async () => {
    await assert.rejects(Sandbox.connect('sb' + '1'.repeat(20)), e2b.NotFoundError)
    await assert.rejects(Sandbox.getInfo('sb' + '1'.repeat(20)), e2b.NotFoundError)
  })

  it('pauses at the end of its time when made so', async (t) => {
    const sandbox = await fresh(t, { lifecycle: { onTimeout: 'pause' } })
    assert.equal((await sandbox.getInfo()).lifecycle.onTimeout, 'pause')
  })

  it('has fifteen seconds when nothing is said', async (t) => {
    const made = await api('POST', '/sandboxes', json({ templateID: 'base' }))
    assert.equal(made.status, 201, made.text)
    const { sandboxID } = JSON.parse(made.text)
    t.after(() => Sandbox.kill(sandboxID))
    const { startedAt, endAt } = await Sandbox.getInfo(sandboxID)
    assert.ok(Math.abs(endAt - startedAt - 15_000) < 2000, `${endAt - startedAt}`)
  })

  it('lists what runs, and only that', async (t) => {
    const [running, paused] = await Promise.all([fresh(t), fresh(t)])
    await paused.pause()
    const answer = await api('GET', '/sandboxes')
    assert.equal(answer.status, 200)
    const ids = JSON.parse(answer.text).map(({ sandboxID }) => sandboxID)
    assert.ok(ids.includes(running.sandboxId) && !ids.includes(paused.sandboxId))
  })

  it('resumes and refreshes as clients once did', async (t) => {
    const sandbox = await fresh(t, { timeoutMs: 60_000 })
    const post = (path, body) => api('POST', `/sandboxes/${sandbox.sandboxId}/${path}`, json(body))
    assert.equal((await post('resume', { timeout: 60 })).status, 409)
    await sandbox.pause()
    const resumed = await post('resume', { timeout: 60 })
    assert.equal(resumed.status, 201, resumed.text)
    assert.equal(JSON.parse(resumed.text).sandboxID, sandbox.sandboxId)
    assert.equal((await post('refreshes', { duration: 900 })).status, 204)
    assert.ok((await sandbox.getInfo()).endAt - Date.now() > 600_000)
  })

  it('answers with the statuses that clients depend on', async (t) => {
    const made = await api('POST', '/sandboxes', json({ templateID: 'base', timeout: 60, secure: true, metadata: {}, envVars: {} }))
    assert.equal(made.status, 201)
    const sandbox = JSON.parse(made.text)
    for (const name of ['sandboxID', 'templateID', 'clientID', 'envdVersion', 'envdAccessToken']) {
      assert.equal(typeof sandbox[name], 'string', name)
    }
    const at = `/sandboxes/${sandbox.sandboxID}`
    t.after(() => Sandbox.kill(sandbox.sandboxID))
    assert.equal((await api('POST', `${at}/connect`, json({ timeout: 60 }))).status, 200)
    assert.equal((await api('POST', `${at}/timeout`, json({ timeout: 60 }))).status, 204)
    assert.equal((await api('POST', `${at}/pause`, json({}))).status, 204)
    assert.equal((await api('POST', `${at}/pause`, json({}))).status, 409)
    assert.equal((await api('POST', `/v2${at}/connect`, json({}))).status, 201)
    const detail = JSON.parse((await api('GET', at)).text)
    for (const name of ['cpuCount', 'memoryMB', 'diskSizeMB']) assert.equal(typeof detail[name], 'number', name)
    assert.equal((await api('DELETE', at)).status, 204)
    const gone = await api('DELETE', at)
    assert.deepEqual([gone.status, JSON.parse(gone.text).code], [404, 404])
  })

  it('shows metrics and logs as the dashboard asks for them', async (t) => {
    const sandbox = await fresh(t)
    const metrics = await api('GET', `/sandboxes/metrics?sandbox_ids=${sandbox.sandboxId}`)
    assert.equal(metrics.status, 200, metrics.text)
    assert.ok(JSON.parse(metrics.text).sandboxes[sandbox.sandboxId].memTotal > 0)
    for (const path of [`/sandboxes/${sandbox.sandboxId}/logs`, `/v2/sandboxes/${sandbox.sandboxId}/logs`]) {
      assert.equal((await api('GET', path)).status, 200, path)
    }
  })

  it('starts processes whose input is open when nothing is said', async (t) => {
    const sandbox = await fresh(t)
    const command = await sandbox.commands.run('cat', { background: true, stdin: true })
    await command.sendStdin('text')
    await command.closeStdin()
    assert.equal((await command.wait()).stdout, 'text')
  })
})
