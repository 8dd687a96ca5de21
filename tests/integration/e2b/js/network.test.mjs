// What sandboxes reach, on the test internet: every server speaks first at port 25.
import { assert, describe, fresh, it, together } from './support.mjs'

const good = 'good.example.org'
const evil = 'evil.example.com'
const evilAddress = '185.220.101.1'

async function reaches(sandbox, ...hosts) {
  const found = []
  for (const host of hosts) {
    const line = `timeout 10 bash -c 'head -c 3 < /dev/tcp/${host}/25' 2> /dev/null || true`
    found.push((await sandbox.commands.run(line)).stdout === '220')
  }
  return found
}

describe('network', together, () => {
  it('reaches the internet and nothing inside by default', async (t) => {
    const sandbox = await fresh(t)
    assert.deepEqual(await reaches(sandbox, good, evilAddress, '10.0.0.1', '169.254.169.254'), [true, true, false, false])
  })

  it('reaches nothing without internet access', async (t) => {
    const sandbox = await fresh(t, { allowInternetAccess: false })
    assert.deepEqual(await reaches(sandbox, good, evilAddress), [false, false])
  })

  it('reaches what is allowed and nothing else', async (t) => {
    const sandbox = await fresh(t, { network: { allowOut: [good], denyOut: ({ allTraffic }) => [allTraffic] } })
    assert.deepEqual(await reaches(sandbox, good, evil, evilAddress), [true, false, false])
  })

  it('reaches all but what is denied', async (t) => {
    const sandbox = await fresh(t, { network: { denyOut: ['185.220.101.0/24'] } })
    assert.deepEqual(await reaches(sandbox, good, evilAddress), [true, false])
  })

  it('changes while it lives', async (t) => {
    const sandbox = await fresh(t)
    await sandbox.updateNetwork({ allowOut: [good], denyOut: ['0.0.0.0/0'] })
    assert.deepEqual(await reaches(sandbox, good, evil), [true, false])
    await sandbox.updateNetwork({})
    assert.deepEqual(await reaches(sandbox, good, evil), [true, true])
  })
})
