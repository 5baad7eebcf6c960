/**
 * A toy agent runtime: what an adapter drives. Put your own in its place.
 *
 * It has owners, a provider, and agents. An agent takes prompts, runs each as a turn of one model call, can be
 * cancelled, and ends once, in order, whoever asks for it. What it does is told to listeners.
 */

export type Status = 'idle' | 'running' | 'disposed'
export type Fields = Record<string, string | number | boolean>
export type Listener = (name: string, agent: Agent, fields: Fields) => void

/** A model call. It gives `max-tokens` or any other word, which is an answer; if it throws, it failed. */
export type Model = (agent: Agent, signal: Signal) => Promise<string>

/** Why a call was refused. `code` says it to a program. */
export class Refused extends Error {
  code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

/** Ends the work of one turn. It fires once; the first cause is the one that counts. */
export class Signal {
  cause: string | undefined
  hear: ((cause: string) => void) | undefined

  fire(cause: string): void {
    if (this.cause !== undefined) return
    this.cause = cause
    this.hear?.(cause)
  }
}

/** Whoever has agents made. The provider, who makes them all, is one too. Once it ends, so do they. */
export class Owner {
  active = true
  agents = new Set<Agent>()
  #failure: string
  #unloading: Promise<void> | undefined

  constructor(failure: string) {
    this.#failure = failure
  }

  /** End it and all that was made through it; whoever comes later joins. */
  unload(): Promise<void> {
    if (this.#unloading === undefined) {
      this.active = false
      for (const agent of this.agents) agent.fail(this.#failure)
      this.#unloading = this.#unload()
    }
    return this.#unloading
  }

  async #unload(): Promise<void> {
    await undefined // it begins in a later step: what is pending takes itself back first
    await Promise.all([...this.agents].reverse().map((agent) => agent.dispose())) // newest first, then side by side
  }
}

/** One agent and its session, which is the log of what it did. */
export class Agent {
  id: string
  status: Status = 'idle'
  turn = 0
  #runtime: Runtime
  #owners: Owner[]
  #records = 0
  #failure: string | undefined
  #published = false
  #prompts: string[] = []
  #signal: Signal | undefined
  #wake = () => {}
  #waiters: (() => void)[] = []
  #driver: Promise<void> | undefined
  #exited = false
  #ending: Promise<void> | undefined

  constructor(runtime: Runtime, id: string, owners: Owner[]) {
    this.id = id
    this.#runtime = runtime
    this.#owners = owners
    for (const owner of owners) owner.agents.add(this)
  }

  // Being made.

  /** Say why it can't be made any more. The first reason counts; later than its creation none does. */
  fail(code: string): void {
    if (!this.#published) this.#failure ??= code
  }

  /** Show it to everybody, unless something ended it before: then throw why. */
  publish(): void {
    const { sessions, agents } = this.#runtime
    if ([...sessions].some((other) => other.id === this.id)) this.#failure ??= 'id-exists'
    if (this.#failure !== undefined) {
      for (const owner of this.#owners) owner.agents.delete(this)
      throw new Refused(this.#failure)
    }
    sessions.add(this)
    agents.add(this)
    this.#published = true
    for (const name of ['session/created', 'agent/created', 'agent/session-start']) this.#tell(name)
    this.#driver = this.#drive()
  }

  // Being used.

  /** Queue a prompt; throws if it is disposed, or the text can't be kept. */
  send(text: string): void {
    if (this.status === 'disposed') throw new Refused('disposed')
    if (!text.isWellFormed()) throw new Refused('invalid-content')
    this.#prompts.push(text)
    this.#tell('agent/queued', { text })
    this.#wake()
  }

  /** Stop what is queued and what runs; nothing happens if that is nothing. */
  cancel(cause: string): void {
    if (this.#signal !== undefined || this.#prompts.length > 0) this.#tell('agent/cancel-requested', { cause })
    this.#prompts = []
    this.#signal?.fire(cause)
  }

  /** Wait until nothing runs and nothing is queued; once it is disposed, until its driver has ended. */
  idle(): Promise<void> {
    const busy = this.status === 'running' || this.#prompts.length > 0
    const waits = this.status === 'disposed' ? !this.#exited : busy
    return waits ? new Promise((resolve) => this.#waiters.push(resolve)) : Promise.resolve()
  }

  /** End it: its turn, its driver, its entries. There is one end, which everybody joins. */
  dispose(): Promise<void> {
    if (this.#ending === undefined) {
      this.fail('lifecycle-disposed')
      if (this.#published) {
        this.status = 'disposed'
        this.#signal?.fire('disposed')
        this.#tell('agent/status', { status: 'disposed' })
        this.#wake()
      }
      this.#ending = this.#end()
    }
    return this.#ending
  }

  async #end(): Promise<void> {
    if (this.#driver === undefined) return // it was never published, and takes itself back
    await this.#driver
    this.#runtime.agents.delete(this)
    this.#tell('agent/disposed')
    this.#runtime.sessions.delete(this)
    this.#tell('session/disposed')
    for (const owner of this.#owners) owner.agents.delete(this)
  }

  // Its driver: one coroutine that runs one turn after the other.

  async #drive(): Promise<void> {
    await undefined
    while (this.status !== 'disposed') {
      const prompt = this.#prompts.shift()
      if (prompt !== undefined) {
        await this.#runTurn(prompt)
        continue
      }
      if (this.status === 'running') this.#become('idle')
      this.#release()
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    this.#exited = true
    this.#release()
  }

  async #runTurn(prompt: string): Promise<void> {
    const turn = ++this.turn
    const signal = (this.#signal = new Signal())
    if (this.status === 'idle') this.#become('running')
    this.#log('turn/start', { turn })
    this.#log('user/message', { text: prompt })
    this.#log('step/start', { turn })
    let outcome = 'completed'
    try {
      const answer = await this.#runtime.model(this, signal)
      if (signal.cause === undefined) this.#log('assistant/message')
      if (answer === 'max-tokens') outcome = 'max-tokens'
    } catch {
      outcome = 'error'
    }
    if (signal.cause !== undefined) outcome = this.#isDisposed() ? 'disposed' : 'aborted'
    this.#log('step/end', { turn })
    if (outcome === 'error') this.#tell('agent/error')
    this.#signal = undefined
    this.#log('turn/end', { turn, outcome })
  }

  #isDisposed(): boolean {
    return this.status === 'disposed'
  }

  #become(status: Status): void {
    this.status = status
    this.#tell('agent/status', { status })
  }

  #release(): void {
    for (const resolve of this.#waiters.splice(0)) resolve()
  }

  #log(record: string, fields: Fields = {}): void {
    this.#tell('log', { seq: this.#records++, record, ...fields })
  }

  #tell(name: string, fields: Fields = {}): void {
    for (const listener of this.#runtime.listeners) listener(name, this, fields)
  }
}

/** All of it: the registries, the owners, the provider, and who listens. */
export class Runtime {
  model: Model
  listeners: Listener[] = []
  agents = new Set<Agent>()
  sessions = new Set<Agent>()
  owners = new Map<string, Owner>()
  provider: Owner | undefined

  constructor(model: Model) {
    this.model = model
  }

  /** Let an owner begin, if it has not or has ended. */
  loadOwner(name: string): void {
    if (!this.owners.get(name)?.active) this.owners.set(name, new Owner('owner-disposed'))
  }

  /** Let the provider begin, if it has not or has ended. */
  loadProvider(): void {
    if (!this.provider?.active) this.provider = new Owner('provider-inactive')
  }

  /** Begin to make an agent: it is refused, or published, in a later step. */
  async create(owner: Owner, id: string): Promise<Agent> {
    const provider = this.provider
    if (!owner.active) throw new Refused('owner-inactive')
    if (!provider?.active) throw new Refused('provider-inactive')
    if ([...this.sessions].some((agent) => agent.id === id)) throw new Refused('id-exists')
    const agent = new Agent(this, id, [owner, provider])
    await undefined
    agent.publish()
    return agent
  }
}
