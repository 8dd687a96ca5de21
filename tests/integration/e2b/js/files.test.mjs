// Files: written and read in every form, listed, looked at, moved, removed, with their metadata.
import { createHash, randomBytes } from 'node:crypto'
import { assert, describe, e2b, fresh, it, together } from './support.mjs'

const everyByte = Uint8Array.from({ length: 256 }, (_, i) => i)
const sum = (data) => createHash('sha256').update(data).digest('hex')
const inside = async (sandbox, path) => (await sandbox.commands.run(`sha256sum < '${path}'`)).stdout.split(' ')[0]
const names = (entries) => entries.map(({ name }) => name)

function inPieces(data, size) {
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < data.length; at += size) controller.enqueue(data.subarray(at, at + size))
      controller.close()
    },
  })
}

describe('files', together, () => {
  it('writes and reads text', async (t) => {
    const sandbox = await fresh(t)
    const info = await sandbox.files.write('/home/user/note.txt', 'text: ä€😀\n')
    assert.deepEqual([info.name, info.type, info.path], ['note.txt', 'file', '/home/user/note.txt'])
    assert.equal(await sandbox.files.read('/home/user/note.txt'), 'text: ä€😀\n')
  })

  it('writes and reads bytes', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('bytes', everyByte.buffer)
    assert.deepEqual(await sandbox.files.read('bytes', { format: 'bytes' }), everyByte)
    assert.equal(await inside(sandbox, 'bytes'), sum(everyByte))
  })

  it('writes a blob and reads one', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('blob', new Blob([everyByte]))
    const blob = await sandbox.files.read('blob', { format: 'blob' })
    assert.equal(sum(new Uint8Array(await blob.arrayBuffer())), sum(everyByte))
  })

  it('writes a stream and reads one', async (t) => {
    const sandbox = await fresh(t)
    const data = new Uint8Array(randomBytes(3_000_001))
    await sandbox.files.write('stream', inPieces(data, 70_000))
    assert.equal(await inside(sandbox, 'stream'), sum(data))
    const hash = createHash('sha256')
    for await (const piece of await sandbox.files.read('stream', { format: 'stream' })) hash.update(piece)
    assert.equal(hash.digest('hex'), sum(data))
  })

  it('knows empty files', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('empty', '')
    assert.equal(await sandbox.files.read('empty'), '')
    assert.equal((await sandbox.files.read('empty', { format: 'bytes' })).length, 0)
    assert.equal((await sandbox.files.getInfo('empty')).size, 0)
  })

  it('makes the directories on the way', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('/home/user/a/b/c.txt', 'deep')
    const { stdout } = await sandbox.commands.run('stat -c "%U %G %a" a a/b a/b/c.txt')
    assert.equal(stdout, 'user user 755\nuser user 755\nuser user 644\n')
  })

  it('replaces what was there', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'a long text')
    await sandbox.files.write('f', 'short')
    assert.equal(await sandbox.files.read('f'), 'short')
  })

  it('writes several files with one call', async (t) => {
    const sandbox = await fresh(t)
    const written = await sandbox.files.write([
      { path: '/home/user/one', data: '1' },
      { path: 'two/three', data: everyByte.buffer },
      { path: '/tmp/four', data: new Blob(['4']) },
    ])
    assert.deepEqual(written.map(({ path }) => path), ['/home/user/one', '/home/user/two/three', '/tmp/four'])
    assert.equal((await sandbox.commands.run('cat one /tmp/four; wc -c < two/three')).stdout, '14256\n')
  })

  it('writes nothing when given nothing', async (t) => {
    const sandbox = await fresh(t)
    assert.deepEqual(await sandbox.files.writeFiles([]), [])
  })

  it('takes the raw body as well', async (t) => {
    const sandbox = await fresh(t)
    const written = await sandbox.files.write([{ path: 'raw1', data: 'r1' }, { path: 'sub/raw2', data: everyByte.buffer }],
      { useOctetStream: true })
    assert.deepEqual(names(written), ['raw1', 'raw2'])
    assert.equal(await sandbox.files.read('raw1'), 'r1')
    assert.equal(await inside(sandbox, 'sub/raw2'), sum(everyByte))
  })

  it('takes what is compressed', async (t) => {
    const sandbox = await fresh(t)
    const text = 'again and again '.repeat(50_000)
    await sandbox.files.write('packed', text, { gzip: true })
    assert.equal(await inside(sandbox, 'packed'), sum(text))
    assert.equal(await sandbox.files.read('packed', { gzip: true }), text)
  })

  it('reads relative paths from home', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.commands.run('mkdir d; echo home > d/f')
    assert.equal(await sandbox.files.read('d/f'), 'home\n')
    assert.equal(await sandbox.files.read('~/d/f'), 'home\n')
    assert.equal((await sandbox.files.getInfo('d/../d/f')).path, '/home/user/d/f')
  })

  it('writes as the user it is told', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('/root/secret', 'root\'s', { user: 'root' })
    await sandbox.files.write('rel', 'root\'s too', { user: 'root' })
    const { stdout } = await sandbox.commands.run('stat -c "%U:%G %n" /root/secret /root/rel', { user: 'root' })
    assert.equal(stdout, 'root:root /root/secret\nroot:root /root/rel\n')
    assert.equal(await sandbox.files.read('rel', { user: 'root' }), 'root\'s too')
  })

  it('refuses a user who is not there', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.files.write('f', 'x', { user: 'nobody-here' }), e2b.AuthenticationError)
    await assert.rejects(sandbox.files.list('/', { user: 'nobody-here' }), e2b.AuthenticationError)
  })

  it('says that there is no such file', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.files.read('/no/such'), e2b.FileNotFoundError)
    await assert.rejects(sandbox.files.getInfo('/no/such'), e2b.FileNotFoundError)
    await assert.rejects(sandbox.files.list('/no/such'), e2b.FileNotFoundError)
    await assert.rejects(sandbox.files.rename('/no/such', '/home/user/x'), e2b.FileNotFoundError)
  })

  it('does not take a directory for a file', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.files.read('/home/user'), e2b.InvalidArgumentError)
    await assert.rejects(sandbox.files.write('/home/user', 'x'), e2b.InvalidArgumentError)
  })

  it('does not take a file for a directory', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'x')
    await assert.rejects(sandbox.files.list('f'), e2b.InvalidArgumentError)
    await assert.rejects(sandbox.files.makeDir('f'), e2b.InvalidArgumentError)
  })

  it('lists a directory, in order', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.commands.run('mkdir -p d/sub/deeper; touch d/b d/a d/sub/x d/sub/deeper/y d/z')
    const entries = await sandbox.files.list('/home/user/d')
    assert.deepEqual(names(entries), ['a', 'b', 'sub', 'z'])
    assert.deepEqual(entries.map(({ type }) => type), ['file', 'file', 'dir', 'file'])
    assert.equal(entries[2].path, '/home/user/d/sub')
  })

  it('lists several levels, depth first', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.commands.run('mkdir -p d/m/n; touch d/a d/m/b d/m/n/c d/z; ln -s /usr d/link')
    const paths = async (depth) => (await sandbox.files.list('d', { depth })).map(({ path }) => path.slice('/home/user/d/'.length))
    assert.deepEqual(await paths(1), ['a', 'link', 'm', 'z'])
    assert.deepEqual(await paths(2), ['a', 'link', 'm', 'm/b', 'm/n', 'z'])
    assert.deepEqual(await paths(3), ['a', 'link', 'm', 'm/b', 'm/n', 'm/n/c', 'z'])
    await assert.rejects(sandbox.files.list('d', { depth: 0 }), e2b.InvalidArgumentError)
  })

  it('lists an empty directory', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.makeDir('void')
    assert.deepEqual(await sandbox.files.list('void'), [])
  })

  it('says whether something is there', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('here', '')
    assert.equal(await sandbox.files.exists('here'), true)
    assert.equal(await sandbox.files.exists('/home/user'), true)
    assert.equal(await sandbox.files.exists('not-here'), false)
  })

  it('describes a file', async (t) => {
    const sandbox = await fresh(t)
    const before = Date.now()
    await sandbox.commands.run('printf 12345 > f; chmod 640 f')
    const info = await sandbox.files.getInfo('f')
    assert.deepEqual([info.name, info.path, info.type, info.size], ['f', '/home/user/f', 'file', 5])
    assert.deepEqual([info.mode, info.permissions, info.owner, info.group], [0o640, '-rw-r-----', 'user', 'user'])
    assert.ok(Math.abs(info.modifiedTime.getTime() - before) < 60_000, info.modifiedTime)
    assert.equal(info.symlinkTarget, undefined)
  })

  it('describes a directory', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.commands.run('mkdir -m 0750 d')
    const info = await sandbox.files.getInfo('d')
    assert.deepEqual([info.type, info.mode, info.permissions], ['dir', 0o750, 'drwxr-x---'])
  })

  it('describes what a link leads to, and where', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.commands.run('mkdir d; printf abc > d/f; chmod 600 d/f; ln -s d/f to-file; ln -s d to-dir; ln -s nowhere broken')
    const file = await sandbox.files.getInfo('to-file')
    assert.deepEqual([file.name, file.path, file.type, file.mode, file.symlinkTarget],
      ['to-file', '/home/user/to-file', 'file', 0o600, '/home/user/d/f'])
    const directory = await sandbox.files.getInfo('to-dir')
    assert.deepEqual([directory.type, directory.symlinkTarget], ['dir', '/home/user/d'])
    assert.ok(!names(await sandbox.files.list('.')).includes('broken'))
    assert.equal(await sandbox.files.read('to-file'), 'abc')
  })

  it('makes directories, once', async (t) => {
    const sandbox = await fresh(t)
    assert.equal(await sandbox.files.makeDir('/home/user/x/y/z'), true)
    assert.equal(await sandbox.files.makeDir('/home/user/x/y/z'), false)
    assert.equal((await sandbox.commands.run('stat -c "%U %a" x/y/z')).stdout, 'user 755\n')
  })

  it('moves files and directories', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('old/f', 'content')
    const moved = await sandbox.files.rename('old/f', 'new/place/g')
    assert.deepEqual([moved.name, moved.path, moved.type], ['g', '/home/user/new/place/g', 'file'])
    await sandbox.files.rename('new', 'newer')
    assert.equal(await sandbox.files.read('newer/place/g'), 'content')
    assert.equal(await sandbox.files.exists('old/f'), false)
    assert.equal(await sandbox.files.exists('new'), false)
  })

  it('removes files and whole directories, and what is not there', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('d/e/f', 'x')
    await sandbox.files.remove('d')
    assert.equal(await sandbox.files.exists('d'), false)
    await sandbox.files.remove('d')
  })

  it('keeps names as they are', async (t) => {
    const sandbox = await fresh(t)
    for (const name of ['with space', 'ä€😀', '100%25', 'a+b&c=d', '"quoted"', "it's", 'new\nline', '-rf', '#hash?']) {
      await sandbox.files.write(`/home/user/names/${name}`, name)
      assert.equal(await sandbox.files.read(`/home/user/names/${name}`), name, name)
      assert.equal((await sandbox.files.getInfo(`/home/user/names/${name}`)).name, name)
    }
    assert.equal((await sandbox.files.list('names')).length, 9)
  })

  it('stores metadata with a file', async (t) => {
    const sandbox = await fresh(t)
    const written = await sandbox.files.write('f', 'x', { metadata: { Kind: 'Report', 'made-by': 'a test' } })
    const both = { kind: 'Report', 'made-by': 'a test' }
    assert.deepEqual(written.metadata, both)
    assert.deepEqual((await sandbox.files.getInfo('f')).metadata, both)
    const listed = (await sandbox.files.list('.')).find(({ name }) => name === 'f')
    assert.deepEqual(listed.metadata, both)
    const { stdout } = await sandbox.commands.run(`python3 -c 'import os; print(os.getxattr("f", "user.e2b.kind").decode())'`)
    assert.equal(stdout, 'Report\n')
  })

  it('keeps metadata when a file moves, and none when it is written anew', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write('f', 'x', { metadata: { a: '1', b: '2' }, useOctetStream: true })
    assert.deepEqual((await sandbox.files.rename('f', 'g')).metadata, { a: '1', b: '2' })
    await sandbox.files.write('g', 'y', { metadata: { c: '3' } })
    assert.deepEqual((await sandbox.files.getInfo('g')).metadata, { c: '3' })
    const last = await sandbox.files.write('g', 'z')
    assert.equal(last.metadata, undefined)
    assert.equal((await sandbox.files.getInfo('g')).metadata, undefined)
  })

  it('gives the same metadata to all files of one call', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.files.write([{ path: 'm1', data: '1' }, { path: 'm2', data: '2' }], { metadata: { set: 'both' } })
    for (const file of ['m1', 'm2']) assert.deepEqual((await sandbox.files.getInfo(file)).metadata, { set: 'both' })
  })

  it('shows metadata that was set inside', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.commands.run(`touch f; python3 -c 'import os; os.setxattr("f", "user.e2b.inside", b"yes")'`)
    assert.deepEqual((await sandbox.files.getInfo('f')).metadata, { inside: 'yes' })
  })

  it('bounds metadata', async (t) => {
    const sandbox = await fresh(t)
    await assert.rejects(sandbox.files.write('f', 'x', { metadata: { big: 'v'.repeat(5000) } }), e2b.InvalidArgumentError)
    assert.equal(await sandbox.files.exists('f'), false)
  })

  it('holds large files', async (t) => {
    const sandbox = await fresh(t)
    const data = randomBytes(24_000_000)
    await sandbox.files.write('large', new Blob([data]))
    assert.equal(await inside(sandbox, 'large'), sum(data))
    assert.equal(sum(await sandbox.files.read('large', { format: 'bytes' })), sum(data))
  })

  it('says that the disk is full', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.commands.run('head -c 4G /dev/zero > full; true')
    await assert.rejects(sandbox.files.write('more', 'x'.repeat(2_000_000)), e2b.NotEnoughSpaceError)
  })

  it('says that the sandbox is gone', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.kill()
    await assert.rejects(sandbox.files.read('f'), e2b.TimeoutError)
    await assert.rejects(sandbox.files.write('f', 'x'), e2b.TimeoutError)
    await assert.rejects(sandbox.files.list('/'), e2b.TimeoutError)
  })
})
