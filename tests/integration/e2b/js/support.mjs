// What the cases have in common: the installed client, sandboxes that end with their case, and
// waiting for what must happen, never for time to pass.
import { strict as assert } from 'node:assert'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import path from 'node:path'

export { assert, describe, it }

const installed = path.join(process.env.GBX_CLIENT, 'node_modules')
const load = (name) => import(pathToFileURL(path.join(installed, name, 'dist', 'index.mjs')).href)

export const e2b = await load('e2b')
export const { Sandbox } = e2b
export const interpreter = () => load('@e2b/code-interpreter')

export const url = process.env.GBX_URL
export const key = process.env.E2B_API_KEY

// No order between cases; a few at a time.
export const together = { concurrency: 3, timeout: 60_000 }

// A sandbox that ends with its case.
export async function fresh(t, opts = {}, template = 'base') {
  return ended(t, await Sandbox.create(template, { timeoutMs: 120_000, ...opts }))
}

export function ended(t, sandbox) {
  t.after(() => sandbox.kill())
  return sandbox
}

// What callbacks were given; `until` is there as soon as it holds for what came so far.
export class Seen {
  items = []
  #waiting = []

  push = (item) => {
    this.items.push(item)
    this.#waiting = this.#waiting.filter((look) => !look())
  }

  get text() {
    return this.items.map((item) => (typeof item === 'string' ? item : Buffer.from(item).toString())).join('')
  }

  until(holds, what = holds.toString()) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`did not come: ${what}; only ${JSON.stringify(this.items).slice(0, 2000)}`)), 30_000)
      const look = () => {
        const found = holds(this)
        if (!found) return false
        clearTimeout(late)
        resolve(found)
        return true
      }
      if (!look()) this.#waiting.push(look)
    })
  }

  has(text) {
    return this.until((seen) => seen.text.includes(text), text)
  }
}

// A promise and its two ends.
export function promise() {
  const made = {}
  made.done = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}

// A request without any client: to see a status and a body as they are.
export async function plain(method, target, { headers = {}, body, host } = {}) {
  if (host === undefined) {
    const answer = await fetch(target.startsWith('http') ? target : url + target, { method, headers, body })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  // fetch() does not let a Host be chosen.
  const { request } = await import('node:http')
  const at = new URL(url)
  return new Promise((resolve, reject) => {
    const sent = request({ host: at.hostname, port: at.port, path: target, method, agent: false,
      headers: { ...headers, Host: host } }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode, headers: new Headers(), text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

export const api = (method, target, more = {}) =>
  plain(method, target, { ...more, headers: { 'X-API-Key': key, ...more.headers } })

export const json = (value) => ({ body: JSON.stringify(value), headers: { 'Content-Type': 'application/json' } })

// A command that says that it has begun, and ends with the line that it is then given by `go`.
export const waits = 'mkfifo go; echo begun; read word < go; echo ended $word'
export const go = (sandbox, word = 'well') => sandbox.commands.run(`echo ${word} > go`)
