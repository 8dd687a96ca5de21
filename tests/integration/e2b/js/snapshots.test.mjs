// Snapshots and forks: other sandboxes that begin with the files of one.
import { assert, describe, e2b, ended, fresh, it, Sandbox, together } from './support.mjs'

async function snapshot(t, sandbox, opts) {
  const made = await sandbox.createSnapshot(opts)
  t.after(() => Sandbox.deleteSnapshot(made.snapshotId))
  return made
}

async function all(pages) {
  const found = []
  while (pages.hasNext) found.push(...await pages.nextItems())
  return found
}

describe('snapshots', together, () => {
  it('keeps the files for sandboxes to come', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('d/f', 'kept')
    const made = await snapshot(t, sandbox)
    await sandbox.files.write('d/f', 'changed later')
    const copy = await fresh(t, {}, made.snapshotId)
    assert.equal(await copy.files.read('d/f'), 'kept')
    assert.equal(await sandbox.files.read('d/f'), 'changed later')
  })

  it('outlives its sandbox', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'kept')
    const made = await snapshot(t, sandbox)
    await sandbox.kill()
    const copy = await fresh(t, {}, made.snapshotId)
    assert.equal(await copy.files.read('f'), 'kept')
  })

  it('is listed, also by its sandbox', async (t) => {
    const sandbox = await fresh(t)
    const one = await snapshot(t, sandbox)
    const two = await snapshot(t, sandbox)
    const ids = (found) => found.map(({ snapshotId }) => snapshotId).sort()
    assert.deepEqual(ids(await all(sandbox.listSnapshots())), [one.snapshotId, two.snapshotId].sort())
    assert.ok(ids(await all(Sandbox.listSnapshots())).includes(one.snapshotId))
    const paged = await all(Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId, limit: 1 }))
    assert.deepEqual(ids(paged), [one.snapshotId, two.snapshotId].sort())
  })

  it('has a name if it was given one', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'named')
    const name = `named-${sandbox.sandboxId}`
    const made = await snapshot(t, sandbox, { name })
    assert.ok(made.names.some((one) => one.includes(name)), JSON.stringify(made))
    const found = await all(Sandbox.listSnapshots({ name }))
    assert.deepEqual(found.map(({ snapshotId }) => snapshotId), [made.snapshotId])
    const copy = await fresh(t, {}, made.snapshotId)
    assert.equal(await copy.files.read('f'), 'named')
  })

  it('is deleted, once', async (t) => {
    const sandbox = await fresh(t)
    const made = await sandbox.createSnapshot()
    assert.equal(await Sandbox.deleteSnapshot(made.snapshotId), true)
    assert.equal(await Sandbox.deleteSnapshot(made.snapshotId), false)
    await assert.rejects(Sandbox.create(made.snapshotId))
  })

  it('cannot be deleted as a template that is built in', async () => {
    const told = await Sandbox.deleteSnapshot('base').catch((error) => error)
    assert.notEqual(told, true)
    assert.equal(await e2b.Template.exists('base'), true)
  })

  it('forks a sandbox', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'common')
    const [fork] = await sandbox.fork({ timeoutMs: 60_000 })
    ended(t, fork)
    assert.notEqual(fork.sandboxId, sandbox.sandboxId)
    await fork.files.write('f', 'its own')
    assert.equal(await sandbox.files.read('f'), 'common')
    assert.equal(await fork.files.read('f'), 'its own')
  })

  it('forks a sandbox several times at once', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'common')
    const forks = await Sandbox.fork(sandbox.sandboxId, { count: 3, timeoutMs: 60_000 })
    forks.forEach((fork) => ended(t, fork))
    assert.equal(new Set(forks.map(({ sandboxId }) => sandboxId)).size, 3)
    for (const fork of forks) assert.equal(await fork.files.read('f'), 'common')
  })

  it('leaves no snapshot behind by forking', async (t) => {
    const sandbox = await fresh(t)
    const [fork] = await sandbox.fork({ timeoutMs: 60_000 })
    ended(t, fork)
    assert.deepEqual(await all(sandbox.listSnapshots()), [])
  })
})
