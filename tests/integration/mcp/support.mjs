// A conversation of the stock client, over the transport that GBX_TRANSPORT names: `http` to /mcp,
// `stdio` by `glovebox mcp` to the same server, `private` by one that starts a server of its own.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, it } from 'node:test'

const require = createRequire(join(process.env.GBX_CLIENT, 'index.js'))
const load = (name) => import(pathToFileURL(require.resolve('@modelcontextprotocol/sdk/' + name)))
const { Client } = await load('client/index.js')
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js')
const { StdioClientTransport } = await load('client/stdio.js')
const { McpError } = await load('types.js')

const kind = process.env.GBX_TRANSPORT

function transport() {
  if (kind === 'http') {
    const headers = { Authorization: 'Bearer ' + process.env.GBX_KEY }
    return new StreamableHTTPClientTransport(new URL(process.env.GBX_URL + '/mcp'), {
      requestInit: { headers },
    })
  }
  const named = { GLOVEBOX_URL: process.env.GBX_URL, GLOVEBOX_API_KEY: process.env.GBX_KEY }
  // Where nothing serves.
  const unnamed = { GLOVEBOX_DATA_DIR: process.env.GBX_HOME }
  const env = { PATH: process.env.PATH, ...(kind === 'stdio' ? named : unnamed) }
  return new StdioClientTransport({ command: process.env.GBX_PROGRAM, args: ['mcp'], env, stderr: 'inherit' })
}

// Ended with the test; errors of the transport are errors of the test.
export async function talk(t) {
  const client = new Client({ name: 'conformance', version: '1.0' })
  const errors = []
  client.onerror = (error) => errors.push(error)
  const wire = transport()
  await client.connect(wire)
  t.after(async () => {
    if (kind === 'http') await wire.terminateSession()
    await client.close()
    assert.deepEqual(errors, [])
  })
  const call = (name, args = {}, options = undefined) =>
    client.callTool({ name, arguments: args }, undefined, options)
  const text = async (name, args, options) => {
    const result = await call(name, args, options)
    assert.ok(!result.isError, JSON.stringify(result))
    return textOf(result)
  }
  return { client, wire, call, text }
}

export function textOf(result) {
  return result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n')
}

export { assert, describe, it, kind, McpError }
