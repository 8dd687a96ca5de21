// Lists of sandboxes: by metadata, state, start and template; in order and in pages.
import { api, assert, describe, e2b, fresh, it, Sandbox, together } from './support.mjs'

let cases = 0
// What only the sandboxes of one case have.
const mark = () => ({ case: `${process.pid}-${cases++}` })

async function all(opts) {
  const pages = Sandbox.list(opts)
  const found = []
  while (pages.hasNext) found.push(...await pages.nextItems())
  return found
}

const ids = (sandboxes) => sandboxes.map(({ sandboxId }) => sandboxId)

describe('listing', together, () => {
  it('lists what runs, with all that is known of it', async (t) => {
    const metadata = mark()
    const sandbox = await fresh(t, { metadata })
    const [found] = await all({ query: { metadata } })
    const info = await sandbox.getInfo()
    for (const name of ['sandboxId', 'templateId', 'state', 'metadata', 'startedAt', 'endAt', 'cpuCount', 'memoryMB', 'envdVersion']) {
      assert.deepEqual(found[name], info[name], name)
    }
  })

  it('has no sandboxes that are gone', async (t) => {
    const metadata = mark()
    const sandbox = await fresh(t, { metadata })
    assert.equal((await all({ query: { metadata } })).length, 1)
    await sandbox.kill()
    assert.deepEqual(await all({ query: { metadata } }), [])
  })

  it('finds by all of the metadata given', async (t) => {
    const both = mark()
    const one = await fresh(t, { metadata: { ...both, colour: 'red', size: '1' } })
    const two = await fresh(t, { metadata: { ...both, colour: 'red', size: '2' } })
    assert.deepEqual(ids(await all({ query: { metadata: { ...both, colour: 'red' } } })).sort(), ids([one, two]).sort())
    assert.deepEqual(ids(await all({ query: { metadata: { ...both, colour: 'red', size: '2' } } })), ids([two]))
    assert.deepEqual(await all({ query: { metadata: { ...both, colour: 'blue' } } }), [])
    assert.deepEqual(await all({ query: { metadata: { ...both, colour: 're' } } }), [])
  })

  it('finds by metadata that looks like an address', async (t) => {
    const metadata = { ...mark(), 'a key&=%': 'b c+d%20&e=f;ä€' }
    const sandbox = await fresh(t, { metadata })
    assert.deepEqual(ids(await all({ query: { metadata } })), ids([sandbox]))
    assert.deepEqual(await all({ query: { metadata: { ...metadata, 'a key&=%': 'b c d &e=f;ä€' } } }), [])
  })

  it('finds by state', async (t) => {
    const metadata = mark()
    const running = await fresh(t, { metadata })
    const paused = await fresh(t, { metadata })
    await paused.pause()
    const by = async (state) => ids(await all({ query: { metadata, state } })).sort()
    assert.deepEqual(await by(['running']), ids([running]))
    assert.deepEqual(await by(['paused']), ids([paused]))
    assert.deepEqual(await by(['running', 'paused']), ids([running, paused]).sort())
    assert.deepEqual(await by(undefined), ids([running, paused]).sort())
  })

  it('is in order of start, the newest first', async (t) => {
    const metadata = mark()
    const made = []
    for (let i = 0; i < 3; i++) made.push(await fresh(t, { metadata }))
    assert.deepEqual(ids(await all({ query: { metadata } })), ids(made).reverse())
    assert.deepEqual(ids(await all({ query: { metadata }, order: 'desc' })), ids(made).reverse())
    assert.deepEqual(ids(await all({ query: { metadata }, order: 'asc' })), ids(made))
  })

  it('comes in pages', async (t) => {
    const metadata = mark()
    const made = []
    for (let i = 0; i < 5; i++) made.push(await fresh(t, { metadata }))
    const pages = Sandbox.list({ query: { metadata }, limit: 2 })
    const sizes = []
    const found = []
    while (pages.hasNext) {
      const page = await pages.nextItems()
      sizes.push(page.length)
      found.push(...page)
    }
    assert.deepEqual(sizes, [2, 2, 1])
    assert.deepEqual(ids(found), ids(made).reverse())
    await assert.rejects(pages.nextItems())
  })

  it('has no page after a last one that is full', async (t) => {
    const metadata = mark()
    for (let i = 0; i < 2; i++) await fresh(t, { metadata })
    const pages = Sandbox.list({ query: { metadata }, limit: 2 })
    assert.equal((await pages.nextItems()).length, 2)
    assert.equal(pages.hasNext, false)
  })

  it('goes on from a token, in the other order too', async (t) => {
    const metadata = mark()
    const made = []
    for (let i = 0; i < 3; i++) made.push(await fresh(t, { metadata }))
    const first = Sandbox.list({ query: { metadata }, limit: 1, order: 'asc' })
    await first.nextItems()
    const rest = await all({ query: { metadata }, order: 'asc', nextToken: first.nextToken })
    assert.deepEqual(ids(rest), ids(made.slice(1)))
  })

  it('refuses a token that is none', async () => {
    await assert.rejects(Sandbox.list({ nextToken: 'no-token' }).nextItems(), (error) => {
      assert.ok(error instanceof e2b.SandboxError, error)
      assert.match(error.message, /400/)
      return true
    })
  })

  it('finds by start', async (t) => {
    const metadata = mark()
    const one = await fresh(t, { metadata })
    const two = await fresh(t, { metadata })
    const { startedAt } = await two.getInfo()
    assert.deepEqual(ids(await all({ query: { metadata, startedAfter: startedAt } })), ids([two]))
    const first = (await one.getInfo()).startedAt
    assert.equal((await all({ query: { metadata, startedAfter: first } })).length, 2)
    assert.deepEqual(await all({ query: { metadata, startedAfter: new Date(Date.now() + 3_600_000) } }), [])
  })

  it('finds by template', async (t) => {
    const metadata = mark()
    const plain = await fresh(t, { metadata })
    const data = await fresh(t, { metadata }, 'code-interpreter-v1')
    const by = async (template) => ids(await all({ query: { metadata, template } }))
    assert.deepEqual(await by('base'), ids([plain]))
    assert.deepEqual(await by('code-interpreter-v1'), ids([data]))
    assert.deepEqual(await by('no-such-template'), [])
  })

  it('shows the same sandboxes as our own API', async (t) => {
    const metadata = mark()
    const sandbox = await fresh(t, { metadata })
    const own = JSON.parse((await api('GET', `/v1/sandboxes/${sandbox.sandboxId}`)).text)
    assert.deepEqual([own.id, own.state, own.metadata], [sandbox.sandboxId, 'running', metadata])
    const made = JSON.parse((await api('POST', '/v1/sandboxes', {
      body: JSON.stringify({ template: 'base', metadata }), headers: { 'Content-Type': 'application/json' },
    })).text)
    t.after(() => Sandbox.kill(made.id))
    assert.ok(ids(await all({ query: { metadata } })).includes(made.id))
    const connected = await Sandbox.connect(made.id)
    assert.equal((await connected.commands.run('echo same')).stdout, 'same\n')
  })
})
