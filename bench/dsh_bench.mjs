/**
 * dsh, measured: answers each line of JSON on stdin with one on stdout (see `reference_child.py`, its twin).
 *
 * Each question gets a fresh context. What is timed is said in the answer to have been done, by counts. Run with
 * `--expose-gc`; the argument is the folder that holds the packages.
 */
import net from 'node:net'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const require = createRequire(join(process.argv[2], 'package.json'))
const load = (name) => import(pathToFileURL(require.resolve(`@deepseek-ai/${name}`)))
const { Context } = await load('cordis')
const { AgentRegistry } = await load('dsh-agent')
const { AgentLoop } = await load('dsh-agent-loop')
const { LlmAdapter, LlmRuntime, createUserMessage } = await load('dsh-llm')
const { SessionStore } = await load('dsh-session')
const { SystemPrompt } = await load('dsh-system-prompt')
const { ToolRuntime } = await load('dsh-tools')

// Nothing here may ever reach a real endpoint.
globalThis.fetch = net.Socket.prototype.connect = () => {
  throw new Error('the benchmark reaches no network')
}

const turn = () => new Promise((go) => setImmediate(go))
const now = () => performance.now() / 1000
const hello = () => createUserMessage({ content: [{ type: 'text', text: 'hello' }], source: { kind: 'user' } })

/** A model that answers at once, or only when its turn is stopped. */
class Model extends LlmAdapter {
  calls = 0
  waits = false

  async *stream({ signal }) {
    this.calls++
    if (this.waits) {
      await new Promise((_go, stop) => signal.addEventListener('abort', () => stop(signal.reason), { once: true }))
    }
    yield { type: 'block-end', index: 0, block: { type: 'text', text: 'hi' } }
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

class World {
  model = new Model()
  root = new Context()

  static async open() {
    const world = new World()
    const { root } = world
    for (const plugin of [LlmRuntime, SessionStore, SystemPrompt, ToolRuntime, AgentRegistry]) await root.plugin(plugin)
    root.llm.registerAdapter(['fake'], world.model)
    world.provider = root.plugin(AgentLoop, { agents: [] })
    await world.provider
    world.owner = root.plugin({ name: 'me', inject: ['agents'], apply() {} })
    await world.owner
    world.agents = world.owner.ctx.agents
    return world
  }

  create(number) {
    return this.agents.create({ sessionId: `agent-${number}`, agentOptions: { provider: 'fake', model: 'm' } })
  }

  async one(number, prompt) {
    const handle = await this.create(number)
    if (prompt) {
      handle.agent.followup(hello())
      await handle.agent.whenIdle()
    }
    await handle.dispose()
  }

  /** Count what it tells that it did, until `remove` is called. */
  counts() {
    const counts = { created: 0, disposed: 0, turns: 0 }
    const removers = [
      this.root.on('agent/created', () => void counts.created++, { global: true }),
      this.root.on('agent/disposed', () => void counts.disposed++, { global: true }),
      this.root.on('session/event', (_session, event) => void (event.type === 'turn/end' && counts.turns++), { global: true }),
    ]
    return { counts, remove: () => removers.forEach((remove) => remove()) }
  }

  left() {
    return this.root.agents.list().length + this.root.sessions.list().length
  }

  async close() {
    await this.root.fiber.dispose()
  }
}

async function oneByOne(count, prompt) {
  const world = await World.open()
  const { counts, remove } = world.counts()
  const warm = Math.floor(count / 5)
  for (let number = 0; number < warm; number++) await world.one(number, prompt)
  remove()
  const warmed = { ...counts, of: warm }
  world.model.calls = 0
  globalThis.gc()
  const began = now()
  for (let number = 0; number < count; number++) await world.one(number, prompt)
  const seconds = now() - began
  const left = world.left()
  await world.close()
  return { seconds, count, calls: world.model.calls, left, warmed }
}

async function unload(count) {
  const world = await World.open()
  world.model.waits = true
  let began = now()
  for (let number = 0; number < count; number++) (await world.create(number)).agent.followup(hello())
  while (world.model.calls < count) await turn()
  const making = now() - began
  const { counts } = world.counts()
  const running = world.root.agents.list().filter((agent) => agent.status === 'running').length
  globalThis.gc()
  began = now()
  await world.provider.dispose()
  const seconds = now() - began
  const left = world.left()
  const { disposed, turns } = counts
  await world.close()
  return { seconds, making, count, running, disposed, turns, left }
}

/** The heap in use when nothing is left to collect. */
async function heap() {
  for (let turns = 0; turns < 10; turns++) await turn()
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function memory(count, cycles) {
  const world = await World.open()
  const idle = []
  const live = []
  for (let cycle = 0; cycle <= cycles; cycle++) {
    idle.push(await heap())
    let handles = []
    for (let number = 0; number < count; number++) {
      const handle = await world.create(number)
      handle.agent.followup(hello())
      await handle.agent.whenIdle()
      handles.push(handle)
    }
    live.push(await heap())
    for (const handle of handles) await handle.dispose()
    handles = undefined
  }
  idle.push(await heap())
  const left = world.left()
  await world.close()
  return { count, idle: idle.slice(1), live: live.slice(1), calls: world.model.calls, left }
}

const DOES = {
  'create-dispose': ({ count }) => oneByOne(count, false),
  'create-prompt-dispose': ({ count }) => oneByOne(count, true),
  unload: ({ count }) => unload(count),
  memory: ({ count, cycles }) => memory(count, cycles),
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line)
  process.stdout.write(JSON.stringify(await DOES[question.do](question)) + '\n')
}
