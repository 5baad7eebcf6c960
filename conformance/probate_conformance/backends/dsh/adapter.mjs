/**
 * Runs the published `@deepseek-ai/dsh-agent-loop` for the kit: line-delimited JSON on stdio (see `wire.py`).
 *
 * Only what the packages export is driven, with one exception, `withdraw` (see `#create`). Each trace gets a context of
 * its own, which takes a few milliseconds. Everything that an outside observer can see becomes one row; nothing is
 * judged here, put in order or made up for: what dsh gets wrong is for the kit to find.
 *
 * Quiet needs no clock. No prompt is ever sent, so the only waits are the gates, and those are ours: once several turns
 * of the event loop have passed without a new row, and dsh has nothing outstanding in that loop, nothing more can
 * happen.
 */
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const PROTOCOL = 1

/** So many turns of the event loop without a new row are quiet; so many in all, and it is taken never to come. */
const CALM_TURNS = 4
const MOST_TURNS = 10_000

/** What may be outstanding in the event loop at quiet: our own stdio, and the turn that looks. */
const OURS = new Set(['FSReqCallback', 'Immediate', 'PipeWrap', 'TTYWrap', 'WriteWrap'])

const folder = process.argv[2]
const { AgentLoop, AgentRegistry, Context, LlmRuntime, SessionStore, SystemPrompt, ToolRuntime } = await import(
  pathToFileURL(join(folder, 'packages.mjs'))
)
const PLUGINS = [LlmRuntime, SessionStore, SystemPrompt, ToolRuntime, AgentRegistry]
const { version } = JSON.parse(
  readFileSync(join(folder, 'node_modules', '@deepseek-ai', 'dsh-agent-loop', 'package.json'), 'utf8'),
)

// Stdout carries the protocol and nothing else, and nothing here may ever reach a real endpoint.
for (const level of ['log', 'info', 'debug']) console[level] = console.error
globalThis.fetch = net.Socket.prototype.connect = () => {
  throw new Error('the adapter reaches no network')
}

const MANIFEST = {
  name: 'dsh',
  version,
  language: 'javascript',
  profiles: ['core'],
  edition: '2026-06',
  bursts: 'yes',
  unclaimed: {
    events: ['agent/status', 'agent/queued', 'agent/cancel-requested', 'agent/error', 'signal', 'log', 'session/flush'],
    ops: ['resume', 'send', 'steer', 'inject', 'cancel', 'await_idle', 'load_provider'],
    gates: ['prepare', 'model', 'tool', 'flush', 'load'],
    codes: ['disposed', 'invalid-content', 'no-persistence', 'not-found'],
    fields: ['snapshot:status'],
  },
  notes: [
    'No prompt is sent: turns, their log and the inbox are not claimed.',
    'Withdraw calls the teardown that the handle carries as dispose, also before the handle is returned. dsh exports ' +
      'nothing that gives it before; it is taken from the factory, and checked to be that function once the handle is there.',
    'A fiber can be disposed once: a second call returns at once. Whoever joins an unload is given the promise of the ' +
      'first call.',
    'Mounting a plug-in is asynchronous, and the contract wants the provider loaded within the call: loading it again is ' +
      'not claimed.',
  ],
}

/** The events that become rows; dsh and the alphabet call them the same. */
const SEEN = ['session/created', 'agent/created', 'agent/session-start', 'agent/disposed', 'session/disposed']

/** All that dsh says and the alphabet has a word for. Everything else is reported as unknown. */
const KNOWN = new Set([...SEEN, 'agent/status', 'agent/error', 'session/event', 'session/flush'])

/** How dsh says each refusal; it gives almost none of them a code. */
const REFUSALS = [
  ['owner-inactive', /^cannot create effect on inactive context$/],
  ['owner-inactive', /^cannot get (required service|property) "agents"/],
  ['provider-inactive', /^no agent factory registered/],
  ['provider-inactive', /^agent loop is not active$/],
  ['aborted', /^agent ".*" creation aborted$/s],
  ['owner-disposed', /^agent ".*" setup aborted: owner disposed during setup$/s],
  ['lifecycle-disposed', /^agent ".*" lifecycle disposed$/s],
  ['id-exists', /^session ".*" already exists$/s],
  ['id-exists', /^agent ".*" is already registered$/s],
]

/** An error of ours, known again by identity whatever it goes through. */
class Scripted extends Error {
  /** @param {string} code what a call settles with that fails with this */
  constructor(code) {
    super(code)
    this.scripted = code
  }
}

function codeOf(error) {
  if (error instanceof Scripted) return error.scripted
  const message = String(error?.message ?? error)
  return REFUSALS.find(([, pattern]) => pattern.test(message))?.[0] ?? 'unspecified'
}

/** Gates that the kit opens and closes. Any may be spoken of before the creation that arrives at it. */
class Gates {
  #gates = new Map()

  #get({ kind, creation }) {
    const key = JSON.stringify([kind, creation])
    if (!this.#gates.has(key)) this.#gates.set(key, { held: false, plan: [], waiting: [] })
    return this.#gates.get(key)
  }

  /** Arrive: resolves with the outcome, at once unless the gate is held. */
  arrive(kind, creation) {
    const gate = this.#get({ kind, creation })
    if (!gate.held) return Promise.resolve(gate.plan.shift() ?? 'ok')
    return new Promise((go) => gate.waiting.push(go))
  }

  plan(item) {
    this.#get(item.gate).plan.push(...item.outcomes)
  }

  hold(item) {
    this.#get(item.gate).held = true
  }

  release(item) {
    this.#get(item.gate).waiting.shift()?.(item.outcome)
  }

  open(item) {
    this.#open(this.#get(item.gate))
  }

  openAll() {
    for (const gate of this.#gates.values()) this.#open(gate)
  }

  #open(gate) {
    gate.held = false
    for (const go of gate.waiting.splice(0)) go('ok')
  }
}

/** One context of dsh, and all that the kit has asked of it. */
class World {
  #root = new Context()
  #gates = new Gates()
  #rows = []
  #unknown = new Set()
  #fault
  #numbers = new Map() // by id: how many of its sessions were announced
  #creations = new Map() // by label
  #bySession = new Map()
  #byAgent = new Map()
  #owners = new Map() // by name: the current incarnation
  #provider
  #spare

  static async open({ owners, provider }) {
    const world = new World()
    const root = world.#root
    for (const plugin of PLUGINS) await root.plugin(plugin)
    world.#record()
    if (provider) {
      world.#provider = { fiber: root.plugin(AgentLoop, { agents: [] }) }
      await world.#provider.fiber
    }
    world.#spare = world.#mountSpare()
    for (const name of owners) world.#owners.set(name, world.#mountOwner(name))
    await world.#quiet()
    world.#unknown.clear()
    return world
  }

  /** Begin all items in this tick, and answer when nothing more will happen. */
  async burst(items) {
    for (const item of items) this.#begin(item)
    const never = !(await this.#quiet())
    if (this.#fault) throw this.#fault
    for (const creation of this.#creations.values()) creation.bound = creation.handle !== undefined
    const unknown = [...this.#unknown]
    this.#unknown.clear()
    return { message: 'quiet', events: this.#rows.splice(0), snapshot: this.#look(), never, unknown }
  }

  /** Let go of everything. This is no epilogue: with the root its listeners go, while agents still end. */
  async close() {
    this.#gates.openAll()
    this.#root.fiber.dispose()
    await this.#quiet()
  }

  /** Note a failure that no call settles with: one of the adapter, or one that dsh left to the process. */
  fail(error) {
    this.#fault ??= error
  }

  // ---- what is seen

  /** Put the recorder on, before anything else can listen. */
  #record() {
    this.#listen('internal/dispatch', (_mode, name) => {
      if (!KNOWN.has(name)) this.#unknown.add(name)
    })
    for (const name of SEEN) {
      this.#listen(name, (payload) => {
        const creation = this.#creationOf(payload)
        if (name === 'session/created') creation.ref = this.#nextRef(creation.id)
        this.#rows.push(this.#row(name, payload))
      })
    }
  }

  /** Listen as an ordinary listener of the root. A fault of ours must not look like a listener that throws. */
  #listen(name, hear) {
    const listener = (...payload) => {
      try {
        return hear(...payload)
      } catch (error) {
        if (error instanceof Scripted) throw error
        this.fail(error)
      }
    }
    this.#root.on(name, listener, { global: true })
  }

  #nextRef(id) {
    const number = (this.#numbers.get(id) ?? 0) + 1
    this.#numbers.set(id, number)
    return `${id}#${number}`
  }

  /** Session events carry the session, agent events an object with the agent. */
  #creationOf(payload) {
    return this.#byAgent.get(payload.agent) ?? this.#bySession.get(payload)
  }

  #row(event, payload) {
    const agent = this.#creationOf(payload).ref
    return event === 'agent/session-start' ? { event, agent, source: payload.source } : { event, agent }
  }

  #look() {
    const { agents, sessions } = this.#root
    const roots = agents.roots()
    const refOf = (agent) => this.#byAgent.get(agent).ref
    const ownerOf = (agent) => {
      if (roots.includes(agent)) return null
      const owner = [...this.#byAgent.keys()].find((other) => agents.isOwnedBy(agent.id, other))
      return owner ? refOf(owner) : '?' // owned by somebody who was never announced
    }
    return {
      agents: agents.list().map((agent) => ({ agent: refOf(agent), status: agent.status, owner: ownerOf(agent) })),
      roots: roots.map(refOf),
      sessions: sessions.list().map((session) => this.#bySession.get(session).ref),
    }
  }

  // ---- what is done

  /**
   * Carry out an item of a burst, or an action of a reaction. What can't apply is void: nothing happens or settles. The
   * kit sends no void item, but only here can be told which actions are.
   *
   * @param item what to do
   * @param self in a reaction: the creation whose agent the event speaks of, which is what `this` names there
   */
  #begin(item, self) {
    const find = (label) => (label === 'this' ? self : this.#creations.get(label))
    const withHandle = (label) => (find(label)?.bound ? find(label) : undefined)
    const refused = (creation) => self && !creation.begun // at its begin: nothing is there that an action could name
    switch (item.item) {
      case 'create': {
        const by = item.by.owner === undefined ? withHandle(item.by.agent) : this.#owners.get(item.by.owner)
        return by && this.#create(item, by.agents)
      }
      case 'abort': {
        const creation = find(item.creation)
        if (!creation?.controller || refused(creation)) return
        creation.controller.abort(new Scripted('aborted'))
        return this.#settle(item.label)
      }
      case 'withdraw': {
        const creation = find(item.creation)
        if (!creation || refused(creation)) return
        if (creation.begun && !creation.withdraw) throw new Error(`${item.creation} can't be withdrawn: it is not tracked`)
        creation.withdraw?.().catch((error) => this.fail(error))
        return this.#settle(item.label)
      }
      case 'dispose': {
        const creation = withHandle(item.agent)
        return creation && this.#await(item.label, creation.handle.dispose())
      }
      case 'unload_owner':
        return this.#unload(item.label, this.#owners.get(item.owner))
      case 'unload_provider':
        return this.#unload(item.label, this.#provider)
      case 'load_owner':
        if (!this.#owners.get(item.owner)?.unload) return
        this.#owners.set(item.owner, this.#mountOwner(item.owner))
        return this.#settle(item.label)
      case 'load_provider':
        if (this.#provider && !this.#provider.unload) return
        this.#provider = this.#mountProvider()
        return this.#settle(item.label)
      case 'look':
        return this.#settle(item.label, this.#look())
      case 'react':
        return this.#react(item)
      case 'plan':
      case 'hold':
      case 'release':
      case 'open':
        return this.#gates[item.item](item)
      default:
        throw new Error(`the op ${item.item} is not claimed`)
    }
  }

  /**
   * Begin a create. Its setup is always given: it is where an agent can be had that is not published yet, and where a
   * cleanup is registered. dsh calls it at once, and only if it does not refuse.
   */
  #create(item, agents) {
    const creation = { id: item.id, ref: undefined, begun: false, bound: false }
    this.#creations.set(item.label, creation)
    if (item.signal !== 'none') creation.controller = new AbortController()
    if (item.signal === 'pre-aborted') creation.controller.abort(new Scripted('aborted'))
    const known = this.#teardowns()
    const returns = agents.create({
      sessionId: item.id,
      agentOptions: { provider: 'none', model: 'none' },
      ...(creation.controller && { signal: creation.controller.signal }),
      setup: (context) => {
        creation.begun = true
        creation.agents = context.agents // as its receiver has it, children are made on this agent's behalf
        this.#byAgent.set(context.agent, creation)
        this.#bySession.set(context.agent.session, creation)
        if (item.cleanup) context.effect(() => () => this.#cleanUp(item.label))
        return item.setup === 'plain' ? this.#setUp(item.label) : undefined
      },
    })
    creation.withdraw = [...this.#teardowns()].find((teardown) => !known.has(teardown))
    const arrived = returns.then((handle) => {
      if (creation.withdraw && handle.dispose !== creation.withdraw) this.fail(new Error('withdraw is not dispose'))
      creation.handle = handle
      return creation.ref
    })
    this.#await(item.label, arrived)
  }

  /** Give the teardowns of all that the provider has made, each the very function that a handle carries as dispose. */
  #teardowns() {
    return new Set(this.#root.get('agentLoop', false)?.ownership.liveAgents)
  }

  /** Arrive after the tick, so that a hold later in the burst still counts. */
  async #setUp(label) {
    await undefined
    if ((await this.#gates.arrive('setup', label)) === 'throw') throw new Scripted('thrown:setup')
  }

  async #cleanUp(label) {
    this.#rows.push({ event: 'scope/cleanup', creation: label })
    if ((await this.#gates.arrive('cleanup', label)) === 'fail') throw new Scripted('thrown:cleanup')
  }

  /** Install a listener that acts once, at the nth match. What it throws, it throws at dsh. */
  #react({ on, nth, do: actions }) {
    let left = nth
    this.#listen(on.event, (payload) => {
      const row = this.#row(on.event, payload)
      if (on.where.some(([field, value]) => row[field] !== value) || --left !== 0) return
      let rejection
      for (const action of actions) {
        if (action.item === 'throw') throw new Scripted(`thrown:${action.tag}`)
        if (action.item === 'reject') rejection = new Scripted(`thrown:${action.tag}`)
        else this.#begin(action, this.#creationOf(payload))
      }
      return rejection && Promise.reject(rejection)
    })
  }

  // ---- owners and the provider

  /** The services are taken from the fiber's context now: the context that gives them is who owns what they make. */
  #mountOwner(name) {
    const fiber = this.#root.plugin({ name, inject: ['agents'], apply() {} })
    return { fiber, agents: fiber.ctx.agents }
  }

  /** Mount what a provider can be made on within one tick. */
  #mountSpare() {
    return this.#root.plugin({ name: 'provider', inject: AgentLoop.inject, apply() {} })
  }

  #mountProvider() {
    if (this.#root.get('agentLoop', false)) return { fiber: this.#root.plugin(AgentLoop, { agents: [] }) }
    const fiber = this.#spare
    this.#spare = this.#mountSpare()
    new AgentLoop(fiber.ctx, AgentLoop.Config({ agents: [] }))
    return { fiber }
  }

  #unload(label, incarnation) {
    if (!incarnation) return this.#await(label, Promise.resolve())
    incarnation.unload ??= Promise.resolve(incarnation.fiber.dispose())
    this.#await(label, incarnation.unload)
  }

  // ---- settlements and quiet

  #settle(call, value = null) {
    this.#rows.push({ event: 'settled', call, outcome: { settlement: 'returned', value } })
  }

  #await(call, promise) {
    promise.then(
      (value) => this.#settle(call, value),
      (error) =>
        this.#rows.push({ event: 'settled', call, outcome: { settlement: 'raised', code: codeOf(error) } }),
    )
  }

  /** Wait until nothing more will happen; false if it went on for too long. */
  async #quiet() {
    let calm = 0
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const rows = this.#rows.length
      await new Promise((resume) => setImmediate(resume))
      calm = this.#rows.length === rows ? calm + 1 : 0
      if (calm < CALM_TURNS) continue
      const outstanding = process.getActiveResourcesInfo().filter((kind) => !OURS.has(kind))
      if (outstanding.length) this.fail(new Error(`quiet can't be shown: ${outstanding} is outstanding`))
      return true
    }
    return false
  }
}

// ---- the protocol

let world

async function answer(line) {
  const message = JSON.parse(line)
  if (message.message === 'burst' && !world) throw new Error('a burst came before any world was opened')
  switch (message.message) {
    case 'hello':
      return { message: 'hello', protocol: PROTOCOL, manifest: MANIFEST }
    case 'open':
      world = await World.open(message.world)
      return { message: 'opened' }
    case 'burst':
      return await world.burst(message.items)
    case 'close':
      await world?.close()
      world = undefined
      return { message: 'closed' }
    default:
      throw new Error(`no message ${message.message}`)
  }
}

for (const event of ['unhandledRejection', 'uncaughtException']) {
  process.on(event, (error) => {
    if (world) world.fail(error)
    else throw error
  })
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const reply = await answer(line).catch((error) => ({
    message: 'broke',
    reason: String(error?.stack ?? error) || 'no reason was given',
  }))
  process.stdout.write(`${JSON.stringify(reply)}\n`)
}
process.exit(0)
