// Watching directories: what is told of what happens in them, and how a watch ends.
import { assert, describe, e2b, fresh, it, promise, Seen, together } from './support.mjs'

// Watches `directory`, which is made if it is not there.
async function watched(t, opts = {}, setUp = 'true', directory = 'd') {
  const sandbox = await fresh(t)
  await sandbox.commands.run(`mkdir -p d; cd d; ${setUp}`)
  const seen = new Seen()
  const handle = await sandbox.files.watchDir(directory, seen.push, opts)
  t.after(() => handle.stop())
  const saw = (type, name) => seen.until(({ items }) => items.find((event) => event.type === type && event.name === name),
    `${type} ${name}`)
  const sh = (line) => sandbox.commands.run(line, { cwd: '/home/user/d' })
  return { sandbox, seen, handle, saw, sh }
}

describe('watch', together, () => {
  it('tells of new files and of what is written', async (t) => {
    const { sandbox, saw } = await watched(t)
    await sandbox.files.write('d/new', 'x')
    await saw('create', 'new')
    await sandbox.commands.run('echo more >> d/new')
    await saw('write', 'new')
  })

  it('tells of what is removed', async (t) => {
    const { sandbox, saw } = await watched(t, {}, 'touch old; mkdir sub')
    await sandbox.files.remove('d/old')
    await saw('remove', 'old')
    await sandbox.files.remove('d/sub')
    await saw('remove', 'sub')
  })

  it('tells of the old and the new name', async (t) => {
    const { sandbox, saw, seen } = await watched(t, {}, 'touch before')
    await sandbox.files.rename('d/before', 'd/after')
    await saw('rename', 'before')
    await saw('create', 'after')
    assert.deepEqual(seen.items.filter(({ name }) => name === 'before').map(({ type }) => type), ['rename'])
  })

  it('tells of changed permissions', async (t) => {
    const { sh, saw } = await watched(t, {}, 'touch f')
    await sh('chmod 600 f')
    await saw('chmod', 'f')
  })

  it('tells of new directories', async (t) => {
    const { sandbox, saw } = await watched(t)
    await sandbox.files.makeDir('d/sub')
    await saw('create', 'sub')
  })

  it('does not look into subdirectories unless told to', async (t) => {
    const { sh, saw, seen } = await watched(t, {}, 'mkdir sub')
    await sh('touch sub/deep; touch last')
    await saw('create', 'last')
    assert.ok(!seen.items.some(({ name }) => name.includes('deep')), JSON.stringify(seen.items))
  })

  it('looks into subdirectories when told to', async (t) => {
    const { sh, saw } = await watched(t, { recursive: true }, 'mkdir -p sub/sub')
    await sh('echo x > sub/sub/deep; rm sub/sub/deep')
    await saw('create', 'sub/sub/deep')
    await saw('write', 'sub/sub/deep')
    await saw('remove', 'sub/sub/deep')
  })

  it('looks into directories that came later', async (t) => {
    const { sandbox, saw } = await watched(t, { recursive: true })
    await sandbox.files.makeDir('d/later')
    await saw('create', 'later')  // from here on nothing in it is missed
    await sandbox.files.write('d/later/f', 'x')
    await saw('create', 'later/f')
    await sandbox.files.makeDir('d/later/more')
    await saw('create', 'later/more')
    await sandbox.files.write('d/later/more/g', 'x')
    await saw('create', 'later/more/g')
  })

  it('describes what changed, when asked', async (t) => {
    const { sh, saw } = await watched(t, { includeEntry: true }, 'touch f')
    await sh('chmod 640 f')
    const { entry } = await saw('chmod', 'f')
    assert.deepEqual([entry.name, entry.path, entry.type, entry.permissions],
      ['f', '/home/user/d/f', 'file', '-rw-r-----'])
    await sh('rm f')
    assert.equal((await saw('remove', 'f')).entry, undefined)
  })

  it('describes nothing when not asked', async (t) => {
    const { sh, saw } = await watched(t)
    await sh('touch f')
    assert.equal((await saw('create', 'f')).entry, undefined)
  })

  it('serves several watches at once', async (t) => {
    const { sandbox, saw } = await watched(t)
    const other = new Seen()
    const second = await sandbox.files.watchDir('/home/user/d', other.push)
    await sandbox.files.write('d/both', 'x')
    await saw('create', 'both')
    await other.until(({ items }) => items.some(({ name }) => name === 'both'))
    await second.stop()
  })

  it('ends when told to', async (t) => {
    const exit = promise()
    const { handle, sandbox, saw } = await watched(t, { onExit: exit.resolve })
    await sandbox.files.write('d/one', 'x')
    await saw('create', 'one')
    await handle.stop()
    await exit.done
  })

  it('ends at its time', async (t) => {
    // On a busy machine the time may be over before the watch has begun: that is the same error.
    const exit = promise()
    const error = await watched(t, { timeoutMs: 400, onExit: exit.resolve }).then(() => exit.done, (early) => early)
    assert.ok(error instanceof e2b.TimeoutError, error)
  })

  it('ends with its sandbox', async (t) => {
    const exit = promise()
    const { sandbox } = await watched(t, { onExit: exit.resolve })
    await sandbox.kill()
    const error = await exit.done
    assert.ok(error instanceof e2b.TimeoutError, error)
  })

  it('refuses what is no directory', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'x')
    await assert.rejects(sandbox.files.watchDir('/no/such', () => {}), e2b.FileNotFoundError)
    await assert.rejects(sandbox.files.watchDir('f', () => {}), e2b.InvalidArgumentError)
  })
})
