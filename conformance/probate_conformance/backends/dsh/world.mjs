/**
 * One context of dsh, and all that the kit has asked of it.
 *
 * Only what the packages export is driven, with one exception, `withdraw` (see `#create`). Each trace gets a context of
 * its own, which takes a few milliseconds. Everything that an outside observer can see becomes one row; nothing is
 * judged here, put in order or made up for: what dsh gets wrong is for the kit to find.
 *
 * Quiet needs no clock. The only waits are the gates, and those are ours: once several turns of the event loop have
 * passed without a new row, and dsh has nothing outstanding in that loop, nothing more can happen.
 */
import { ROUTE, scriptedModel, scriptedTool } from './bodies.mjs'
import { ABORTED, Gates } from './gates.mjs'
import { Recorder, matches } from './recorder.mjs'
import { Scripted, USER, causeOf, codeOf, isOurs } from './vocabulary.mjs'

/** So many turns of the event loop without a new row are quiet; so many in all, and it is taken never to come. */
const CALM_TURNS = 4
const MOST_TURNS = 10_000

/** What may be outstanding in the event loop at quiet: our own stdio, and the turn that looks. */
const OURS = new Set(['FSReqCallback', 'Immediate', 'PipeWrap', 'TTYWrap', 'WriteWrap'])

/** What a message is made of that can't be kept in a log. */
const NOT_KEPT = undefined

export class World {
  #packages
  #root
  #recorder
  #gates = new Gates()
  #fault
  #creations = new Map() // by label
  #owners = new Map() // by name: the current incarnation
  #provider

  /** @param packages those of dsh, by the names that they export */
  static async open(packages, { owners, provider }) {
    const world = new World(packages)
    await world.#mount(provider)
    for (const name of owners) world.#owners.set(name, world.#mountOwner(name))
    await world.#quiet()
    world.#recorder.take()
    return world
  }

  constructor(packages) {
    this.#packages = packages
    this.#root = new packages.Context()
  }

  /** Begin all items in this tick, and answer when nothing more will happen. */
  async burst(items) {
    for (const item of items) this.#begin(item)
    const never = !(await this.#quiet())
    if (this.#fault) throw this.#fault
    for (const creation of this.#creations.values()) creation.bound = creation.handle !== undefined
    return { message: 'quiet', snapshot: this.#look(), never, ...this.#recorder.take() }
  }

  /** Let go of everything. This is no epilogue: with the root its listeners go, while agents still end. */
  async close() {
    this.#gates.openAll()
    this.#root.fiber.dispose()
    await this.#quiet()
  }

  /** Note a failure of the adapter. */
  fail(error) {
    this.#fault ??= error
  }

  /** Note a rejection that was left to the process: one of dsh is kept like an event that there is no word for. */
  leave(error) {
    if (isOurs(error)) this.fail(error)
    else this.#recorder.note('unhandledRejection')
  }

  async #mount(provider) {
    const root = this.#root
    const { AgentLoop, AgentRegistry, LlmAdapter, LlmRuntime, SessionProjectionRegistry, SessionStore, SystemPrompt, ToolRuntime } =
      this.#packages
    const projections = AgentLoop.inject.includes('sessionProjections') ? [SessionProjectionRegistry] : []
    for (const plugin of [LlmRuntime, SessionStore, ...projections, SystemPrompt, ToolRuntime, AgentRegistry]) {
      await root.plugin(plugin)
    }
    this.#recorder = new Recorder(root, this.#packages, (error) => this.fail(error))
    root.llm.registerAdapter([ROUTE.provider], this.#model(LlmAdapter))
    root.tools.register(scriptedTool((execution) => this.#body('tool', this.#recorder.creationOf(execution.agent), execution.signal)))
    root.on('agent/pre-step', (step, next) => this.#prepare(step, next), { global: true })
    if (!provider) return
    this.#provider = { fiber: root.plugin(AgentLoop, { agents: [] }) }
    await this.#provider.fiber
  }

  // ---- what is seen

  #look() {
    const { agents, sessions } = this.#root
    const roots = agents.roots()
    const refOf = (subject) => this.#recorder.creationOf(subject).ref
    const ownerOf = (agent) => {
      if (roots.includes(agent)) return null
      const owner = this.#recorder.agents().find((other) => agents.isOwnedBy(agent.id, other))
      return owner ? refOf(owner) : '?' // owned by somebody who was never announced
    }
    return {
      agents: agents.list().map((agent) => ({ agent: refOf(agent), status: agent.status, owner: ownerOf(agent) })),
      roots: roots.map(refOf),
      sessions: sessions.list().map(refOf),
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
    const agentOf = (label) => (label === 'this' ? self : withHandle(label))?.agent
    const refused = (creation) => self && !creation.begun // at its begin: nothing is there that an action could name
    switch (item.item) {
      case 'create': {
        const by = item.by.owner === undefined ? withHandle(item.by.agent) : this.#owners.get(item.by.owner)
        return by && this.#create(item, by)
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
        this.#withdraw(creation)
        return this.#settle(item.label)
      }
      case 'send':
        return this.#say(item, agentOf(item.agent), 'followup')
      case 'steer':
      case 'inject':
        return this.#say(item, agentOf(item.agent), item.item)
      case 'cancel': {
        const agent = agentOf(item.agent)
        return agent && this.#call(item, () => agent.cancel(causeOf(item)))
      }
      case 'await_idle': {
        const agent = agentOf(item.agent)
        return agent && this.#await(item, agent.whenIdle())
      }
      case 'dispose': {
        const creation = withHandle(item.agent)
        return creation && this.#await(item, creation.handle.dispose())
      }
      case 'unload_owner':
        return this.#unload(item, this.#owners.get(item.owner))
      case 'unload_provider':
        return this.#unload(item, this.#provider)
      case 'load_owner':
        if (!this.#owners.get(item.owner)?.unload) return
        this.#owners.set(item.owner, this.#mountOwner(item.owner))
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
   * cleanup is registered.
   *
   * A creation can be withdrawn before its handle is returned by the teardown that dsh keeps for it, and exports nowhere:
   * that is taken from the factory, which has just put it there when it calls the setup, and checked to be the one that
   * the handle carries once it is there.
   */
  #create(item, by) {
    const creation = { label: item.label, id: item.id, records: 0, answers: 0, turn: 0, begun: false, bound: false }
    this.#creations.set(item.label, creation)
    if (item.signal !== 'none') creation.controller = new AbortController()
    if (item.signal === 'pre-aborted') creation.controller.abort(new Scripted('aborted'))
    const returns = by.agents.create({
      sessionId: item.id,
      agentOptions: ROUTE,
      ...(by.agent && { parentAgent: by.agent }),
      ...(creation.controller && { signal: creation.controller.signal }),
      setup: (context, agent = context.agent) => {
        creation.begun = true
        creation.agent = agent
        creation.agents = context.agents // as its receiver has it, children are made on this agent's behalf
        creation.teardown = [...this.#root.get('agentLoop', false).ownership.liveAgents].at(-1)
        this.#recorder.belongs(creation, agent)
        if (item.cleanup) context.effect(() => () => this.#cleanUp(item.label))
        if (creation.withdrawn) this.#withdraw(creation)
        if (item.setup !== 'plain') return undefined
        const set = this.#setUp(item.label)
        set.catch(() => {}) // of a creation that was ended meanwhile, dsh leaves it to the process
        return set
      },
    })
    const arrived = returns.then((handle) => {
      if (handle.dispose !== creation.teardown) this.fail(new Error('withdraw is not dispose'))
      creation.handle = handle
      return creation.ref
    })
    this.#await(item, arrived)
  }

  /** Withdraw a creation; one that dsh has not prepared yet, as soon as it has. */
  #withdraw(creation) {
    creation.withdrawn = true
    creation.teardown?.().catch(() => {}) // told to whoever disposes of it; a withdraw has returned
  }

  /** Give an agent something to read. */
  #say(item, agent, verb) {
    if (!agent) return
    const good = this.#packages.createUserMessage({ content: [{ type: 'text', text: item.text }], source: USER })
    const message = item.text === '!bad' ? { ...good, content: [{ type: 'text', text: NOT_KEPT }] } : good
    this.#call(item, () => agent[verb](message))
  }

  /** Install a listener that acts once, at the nth match. What it throws, it throws at dsh. */
  #react({ on, nth, do: actions }) {
    let left = nth
    this.#recorder.on(on.event, (row, creation) => {
      if (!matches(row, on) || --left !== 0) return undefined
      let rejection
      for (const action of actions) {
        if (action.item === 'throw') throw new Scripted(`thrown:${action.tag}`)
        if (action.item === 'reject') rejection = new Scripted(`thrown:${action.tag}`)
        else this.#begin(action, creation)
      }
      return rejection && Promise.reject(rejection)
    })
  }

  // ---- what agents run

  /** Arrive after the tick, so that a hold later in the burst still counts. */
  async #setUp(label) {
    await undefined
    if ((await this.#gates.arrive('setup', label)) === 'throw') throw new Scripted('thrown:setup')
  }

  async #cleanUp(label) {
    this.#recorder.push({ event: 'scope/cleanup', creation: label })
    if ((await this.#gates.arrive('cleanup', label)) === 'fail') throw new Scripted('thrown:cleanup')
  }

  /** Before a step dsh says in which turn it is, also of an agent whose log is heard no more. */
  async #prepare({ agent, turn, signal }, next) {
    const creation = this.#recorder.creationOf(agent)
    creation.turn = turn
    if ((await this.#gates.arrive('prepare', creation.label, signal)) === 'throw') throw new Scripted('thrown:prepare')
    return next()
  }

  #model(LlmAdapter) {
    const asking = () => this.#recorder.creationOf(this.#root.agents.requireInitiator())
    return scriptedModel(
      LlmAdapter,
      (signal) => this.#body('model', asking(), signal),
      () => {
        const creation = asking()
        const number = creation.answers + 1
        return [`${creation.label}:${number}`, () => (creation.answers = number)]
      },
    )
  }

  /** A body is in flight until the record of its end: what it gives is on its way meanwhile, and a signal cuts it off. */
  #body(kind, creation, signal) {
    const body = (creation.inFlight = Symbol(kind))
    return this.#gates.arrive(kind, creation.label, signal, () => {
      if (creation.inFlight === body) this.#recorder.signal(creation, signal.reason.kind)
    })
  }

  // ---- owners and the provider

  /** The services are taken from the fiber's context now: the context that gives them is who owns what they make. */
  #mountOwner(name) {
    const fiber = this.#root.plugin({ name, inject: ['agents'], apply() {} })
    return { fiber, agents: fiber.ctx.agents }
  }

  #unload(item, incarnation) {
    if (!incarnation) return this.#await(item, Promise.resolve())
    incarnation.unload ??= Promise.resolve(incarnation.fiber.dispose())
    this.#await(item, incarnation.unload)
  }

  // ---- settlements and quiet

  #call(item, act) {
    try {
      act()
    } catch (error) {
      return this.#raised(item, error)
    }
    this.#settle(item.label)
  }

  #settle(call, value = null) {
    this.#recorder.push({ event: 'settled', call, outcome: { settlement: 'returned', value } })
  }

  #raised({ label, item }, error) {
    this.#recorder.push({ event: 'settled', call: label, outcome: { settlement: 'raised', code: codeOf(item, error) } })
  }

  /** Settle a call when a promise does; what an unload gives is nobody's. */
  #await(item, promise) {
    promise.then(
      (value) => this.#settle(item.label, item.item === 'create' ? value : null),
      (error) => this.#raised(item, error),
    )
  }

  /** Wait until nothing more will happen; false if it went on for too long. */
  async #quiet() {
    let calm = 0
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const rows = this.#recorder.length
      await new Promise((resume) => setImmediate(resume))
      calm = this.#recorder.length === rows ? calm + 1 : 0
      if (calm < CALM_TURNS) continue
      const outstanding = process.getActiveResourcesInfo().filter((kind) => !OURS.has(kind))
      if (outstanding.length) this.fail(new Error(`quiet can't be shown: ${outstanding} is outstanding`))
      return true
    }
    return false
  }
}
