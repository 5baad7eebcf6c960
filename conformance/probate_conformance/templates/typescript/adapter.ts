/**
 * The adapter: carries out for Probate what it asks of the toy, and tells it what happened.
 *
 * The conversation is one line of JSON for each message (docs/protocol.md of Probate tells it all). Standard output is
 * for that and nothing else. Only `World` knows the runtime; the rest stays as it is when you put your own in the toy's
 * place. Node runs this file as it stands: it strips the types.
 */
import { createInterface } from 'node:readline'
import { Refused, Runtime } from './toy.ts'
import type { Agent, Fields, Signal } from './toy.ts'

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
type Item = Record<string, any>

const MANIFEST = {
  name: 'toy',
  version: '1',
  language: 'typescript',
  unclaimed: {
    events: ['session/flush', 'scope/cleanup'],
    ops: ['resume', 'abort', 'withdraw', 'steer', 'inject'],
    gates: ['setup', 'prepare', 'tool', 'flush', 'cleanup', 'load'],
    features: ['setup', 'cleanup', 'signal', 'by-agent', 'react', 'throw', 'reject'],
  },
  notes: ['The toy has no tools, no steering, no children, and nobody can answer its events.'],
}

/** So many turns of the event loop in which nothing happened are quiet; so many in all, and it never will be. */
const CALM_TURNS = 4
const MOST_TURNS = 10_000

/** Where the model waits if Probate holds it; what goes through an open one takes the next planned outcome. */
class Gate {
  held = false
  honours = true
  planned: string[] = []
  waiting: ((outcome: string) => void)[] = []

  release(outcome: string): void {
    this.waiting.shift()?.(outcome)
  }

  open(): void {
    this.held = false
    while (this.waiting.length > 0) this.release('text')
  }
}

/** One runtime, and all that was asked of it. */
class World {
  events: Json[] = []
  runtime = new Runtime((agent, signal) => this.#model(agent, signal))
  #gates = new Map<string, Gate>()
  #returned = new Map<string, Agent>()
  #labels = new Map<Agent, string>()
  #refs = new Map<Agent, string>()
  #numbers = new Map<string, number>()
  #answers = new Map<Agent, number>()

  constructor(owners: string[], provider: boolean) {
    this.runtime.listeners.push((name, agent, fields) => this.#hear(name, agent, fields))
    for (const owner of owners) this.runtime.loadOwner(owner)
    if (provider) this.runtime.loadProvider()
  }

  // What happens becomes events.

  /** Put what the runtime says into the words of the contract. */
  #hear(name: string, agent: Agent, fields: Fields): void {
    if (name === 'session/created') {
      const number = (this.#numbers.get(agent.id) ?? 0) + 1
      this.#numbers.set(agent.id, number)
      this.#refs.set(agent, `${agent.id}#${number}`) // the n-th session of this id
    }
    const about = { event: name, agent: this.#ref(agent) }
    if (name === 'log') {
      const { seq, ...record } = fields
      if (record.record === 'turn/start') record.trigger = 'message'
      if (record.record === 'step/start' || record.record === 'step/end') record.step = 1
      if (record.record === 'assistant/message') record.text = `${this.#labels.get(agent)}:${this.#answers.get(agent)}`
      this.events.push({ ...about, seq, record })
      return
    }
    const rest: Record<string, Fields> = {
      'agent/session-start': { source: 'startup' },
      'agent/queued': { steering: false },
      'agent/error': { step: 1, source: 'model' },
    }
    this.events.push({ ...about, ...fields, ...rest[name] })
  }

  #ref(agent: Agent): string {
    return this.#refs.get(agent) ?? `${agent.id}#0`
  }

  /** A call came to its end, by returning: every call does, once. */
  #returns(call: string, value: Json = null): void {
    this.events.push({ event: 'settled', call, outcome: { settlement: 'returned', value } })
  }

  /** It raised. What is no refusal is a fault of this adapter. */
  #raises(call: string, error: unknown): void {
    if (!(error instanceof Refused)) throw error
    this.events.push({ event: 'settled', call, outcome: { settlement: 'raised', code: error.code } })
  }

  /** Show what the registries hold, in the order of their entries. */
  look(): Json {
    const { agents, sessions } = this.runtime
    const entries = [...agents].map((agent) => ({ agent: this.#ref(agent), status: agent.status, owner: null }))
    return {
      agents: entries,
      roots: entries.map((entry) => entry.agent),
      sessions: [...sessions].map((agent) => this.#ref(agent)),
    }
  }

  // What is asked is done. Nothing here waits: all items of a burst begin in one go.

  begin(item: Item): void {
    const agent = () => this.#returned.get(item.agent)!
    switch (item.item) {
      case 'create':
        return this.#follow(item.label, this.#create(item))
      case 'send':
        return this.#atOnce(item.label, () => agent().send(item.text === '!bad' ? '\ud800' : item.text))
      case 'cancel':
        return this.#atOnce(item.label, () => agent().cancel(item.cause))
      case 'await_idle':
        return this.#follow(item.label, agent().idle())
      case 'dispose':
        return this.#follow(item.label, agent().dispose())
      case 'unload_owner':
        return this.#follow(item.label, this.runtime.owners.get(item.owner)!.unload())
      case 'unload_provider':
        return this.#follow(item.label, this.runtime.provider?.unload() ?? Promise.resolve())
      case 'load_owner':
        return this.#atOnce(item.label, () => this.runtime.loadOwner(item.owner))
      case 'load_provider':
        return this.#atOnce(item.label, () => this.runtime.loadProvider())
      case 'look':
        return this.#returns(item.label, this.look())
      case 'plan':
        this.#gate(item.gate.creation).planned.push(...item.outcomes)
        return
      case 'hold':
        Object.assign(this.#gate(item.gate.creation), { held: true, honours: item.temper === 'honours' })
        return
      case 'release':
        return this.#gate(item.gate.creation).release(item.outcome)
      case 'open':
        return this.#gate(item.gate.creation).open()
      default:
        throw new Error(`the manifest does not claim '${item.item}'`)
    }
  }

  /** Begin to create an agent, which this label names from then on. */
  async #create(item: Item): Promise<string> {
    const agent = await this.runtime.create(this.runtime.owners.get(item.by.owner)!, item.id)
    this.#returned.set(item.label, agent)
    this.#labels.set(agent, item.label)
    return this.#ref(agent)
  }

  /** Carry out a call that comes to its end at once. */
  #atOnce(call: string, act: () => void): void {
    try {
      act()
    } catch (error) {
      return this.#raises(call, error)
    }
    this.#returns(call)
  }

  /** Note when a call that has begun comes to its end. */
  #follow(call: string, promise: Promise<string | void>): void {
    promise.then(
      (value) => this.#returns(call, value ?? null),
      (error) => this.#raises(call, error),
    )
  }

  #gate(creation: string): Gate {
    const gate = this.#gates.get(creation) ?? new Gate()
    this.#gates.set(creation, gate)
    return gate
  }

  /** Stand in for the model: go through the gate, or wait there until Probate says how to go on. */
  async #model(agent: Agent, signal: Signal): Promise<string> {
    this.#answers.set(agent, (this.#answers.get(agent) ?? 0) + 1)
    const gate = this.#gate(this.#labels.get(agent)!)
    let outcome = 'text'
    if (!gate.held) {
      outcome = gate.planned.shift() ?? outcome
    } else {
      const { turn } = agent
      const { honours } = gate
      outcome = await new Promise<string>((resolve) => {
        gate.waiting.push(resolve)
        // It hears until the runtime has its answer, which is later than the release.
        signal.hear = (cause) => {
          this.events.push({ event: 'signal', agent: this.#ref(agent), turn, cause })
          const place = gate.waiting.indexOf(resolve)
          if (!honours || place < 0) return
          gate.waiting.splice(place, 1)
          resolve('stopped')
        }
      })
    }
    if (outcome === 'error') throw new Error('the model failed, as it was told to')
    return outcome
  }
}

/** Let everything run until nothing more happens. With nothing outside to wait for, that needs no clock. */
async function quiet(world: World): Promise<boolean> {
  let calm = 0
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const before = world.events.length
    await new Promise((resume) => setImmediate(resume))
    calm = world.events.length === before ? calm + 1 : 0
    if (calm === CALM_TURNS) return true
  }
  return false
}

let world: World | undefined

async function answer(message: Item): Promise<Json> {
  switch (message.message) {
    case 'hello':
      return { message: 'hello', protocol: 1, manifest: MANIFEST }
    case 'open':
      world = new World(message.world.owners, message.world.provider)
      return { message: 'opened' }
    case 'burst': {
      if (world === undefined) throw new Error('no world is open')
      for (const item of message.items) world.begin(item)
      const never = !(await quiet(world))
      return { message: 'quiet', events: world.events.splice(0), snapshot: world.look(), never }
    }
    case 'close':
      world = undefined // whatever is left in it
      return { message: 'closed' }
    default:
      throw new Error(`there is no message '${message.message}'`)
  }
}

console.log = console.info = console.error // from here on, what anybody prints goes to standard error

for await (const line of createInterface({ input: process.stdin })) {
  const reply = await answer(JSON.parse(line)).catch((error) => ({ message: 'broke', reason: String(error) }))
  process.stdout.write(`${JSON.stringify(reply)}\n`)
}
