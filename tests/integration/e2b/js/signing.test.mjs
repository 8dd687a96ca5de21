// Signed addresses of files: they say nothing of their sandbox, and are enough all the same.
import { api, assert, describe, e2b, fresh, it, plain, together, url } from './support.mjs'

function form(content) {
  const body = new FormData()
  body.append('file', new Blob([content]), 'ignored.txt')
  return { body }
}

const refused = (answer, message) => {
  assert.equal(answer.status, 401, answer.text)
  const told = JSON.parse(answer.text)
  assert.equal(told.code, 401)
  if (message) assert.deepEqual(told, { code: 401, message })
}

describe('signing', together, () => {
  it('signs as the protocol says', async () => {
    const given = { path: '/home/user/a.txt', envdAccessToken: 'tok_123', operation: 'read', user: '' }
    assert.equal((await e2b.getSignature(given)).signature, 'v1_cpIj9iw6H8j4zB0S5ANTvnGQeT01XQu0qBk5cwPRvS8')
  })

  it('gives a file to who has its address', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f.txt', 'signed ä')
    const address = await sandbox.downloadUrl('f.txt')
    assert.ok(address.startsWith(url + '/files?'), address)
    const answer = await plain('GET', address)
    assert.deepEqual([answer.status, answer.text], [200, 'signed ä'])
  })

  it('finds the right one of many sandboxes', async (t) => {
    const both = await Promise.all([fresh(t), fresh(t)])
    await both[0].files.write('f', 'of the first')
    await both[1].files.write('f', 'of the second')
    assert.equal((await plain('GET', await both[0].downloadUrl('f'))).text, 'of the first')
    assert.equal((await plain('GET', await both[1].downloadUrl('f'))).text, 'of the second')
  })

  it('takes a file from who has its address', async (t) => {
    const sandbox = await fresh(t)
    const answer = await plain('POST', await sandbox.uploadUrl('up/loaded.txt'), form('sent'))
    assert.equal(answer.status, 200, answer.text)
    assert.equal(JSON.parse(answer.text)[0].path, '/home/user/up/loaded.txt')
    assert.equal(await sandbox.files.read('up/loaded.txt'), 'sent')
  })

  it('takes a raw file, too', async (t) => {
    const sandbox = await fresh(t)
    const answer = await plain('POST', await sandbox.uploadUrl('raw'),
      { body: 'as it is', headers: { 'Content-Type': 'application/octet-stream' } })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(await sandbox.files.read('raw'), 'as it is')
  })

  it('signs for a user', async (t) => {
    const sandbox = await fresh(t)
    await plain('POST', await sandbox.uploadUrl('of-root', { user: 'root' }), form('root\'s'))
    assert.equal((await sandbox.commands.run('stat -c %U /root/of-root', { user: 'root' })).stdout, 'root\n')
    assert.equal((await plain('GET', await sandbox.downloadUrl('of-root', { user: 'root' }))).text, 'root\'s')
  })

  it('signs for a time', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'for a while')
    const address = await sandbox.downloadUrl('f', { useSignatureExpiration: 300 })
    assert.equal((await plain('GET', address)).text, 'for a while')
    refused(await plain('GET', await sandbox.downloadUrl('f', { useSignatureExpiration: -10 })),
      'signature is already expired')
    refused(await plain('POST', await sandbox.uploadUrl('g', { useSignatureExpiration: -10 }), form('late')),
      'signature is already expired')
    assert.equal(await sandbox.files.exists('g'), false)
  })

  it('lets nothing of an address be changed', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'one')
    await sandbox.files.write('g', 'another')
    const changed = async (change, opts) => {
      const address = new URL(await sandbox.downloadUrl('f', opts))
      change(address.searchParams)
      refused(await plain('GET', address.href), 'invalid signature')
    }
    await changed((query) => query.set('path', 'g'))
    await changed((query) => query.set('username', 'root'))
    await changed((query) => query.set('signature', query.get('signature').slice(0, -1)))
    await changed((query) => query.set('signature', 'v1_'))
    await changed((query) => query.set('signature_expiration', '99999999999'), { useSignatureExpiration: 60 })
    await changed((query) => query.delete('signature_expiration'), { useSignatureExpiration: 60 })
  })

  it('is either for reading or for writing', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'read only')
    refused(await plain('POST', await sandbox.downloadUrl('f'), form('written')), 'invalid signature')
    refused(await plain('GET', await sandbox.uploadUrl('f')), 'invalid signature')
    assert.equal(await sandbox.files.read('f'), 'read only')
  })

  it('is worth nothing without a signature', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'x')
    refused(await plain('GET', '/files?path=f'))
    refused(await api('GET', '/files?path=f'))
    refused(await plain('GET', '/files?path=f', { headers: { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '49983' } }))
  })

  it('is worth nothing when its sandbox is gone', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'x')
    const address = await sandbox.downloadUrl('f')
    await sandbox.kill()
    assert.ok([401, 502].includes((await plain('GET', address)).status))
  })

  it('says that there is no such file', async (t) => {
    const sandbox = await fresh(t)
    const answer = await plain('GET', await sandbox.downloadUrl('/no/such'))
    assert.equal(answer.status, 404)
    assert.deepEqual(JSON.parse(answer.text), { code: 404, message: "path '/no/such' does not exist" })
  })

  it('can be used by a page in a browser', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'x')
    const answer = await plain('GET', await sandbox.downloadUrl('f'), { headers: { Origin: 'https://example.com' } })
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    const asked = await plain('OPTIONS', await sandbox.uploadUrl('f'), { headers: {
      Origin: 'https://example.com', 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'content-type' } })
    assert.ok(asked.status === 200 || asked.status === 204, `${asked.status}`)
    assert.equal(asked.headers.get('access-control-allow-origin'), '*')
  })
})
