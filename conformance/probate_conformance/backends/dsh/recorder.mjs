/**
 * What an outside observer of one context sees, as rows in the order in which it is seen.
 *
 * The recorder listens before anything else does, and the kit's reactions listen after it, in order of installation,
 * all of them with the `global` option: so they hear of every agent, whichever scope its events are dispatched in. A
 * fault of ours inside a listener is kept for the next answer; it must not look like a listener that throws.
 */
import { Scripted, eventsOf, isOutside, recordOf } from './vocabulary.mjs'

/** What dsh calls the event that carries a record of the log, and the one that says that listeners are to flush. */
const RECORD = 'session/event'
const FLUSH = 'session/flush'

/** What dsh dispatches for plug-ins to decide something; nothing has happened that an observer could tell of. */
const HOOKS = new Set([
  'agent/pre-step',
  'agent/request',
  'agent/request-error',
  'agent/turn-stopping',
  'llm/stream',
  'system-prompt/assemble',
  'tools/execute',
  'tools/post-execute',
  'tools/pre-execute',
])

/** The records by which a body has ended, whatever it gave. */
const ENDS_OF_BODIES = new Set(['assistant/message', 'tool/result', 'step/end'])

export class Recorder {
  #context
  #events
  #rows = []
  #unknown = new Set()
  #numbers = new Map() // by id: how many of its sessions were announced
  #known = new Map() // agents and sessions, and the creation that each belongs to
  #records = new WeakMap() // by record: its row
  #hearers = [] // of signals, which dsh does not dispatch
  #fail

  /**
   * @param context the root context of the world
   * @param packages those of dsh
   * @param fail told of a fault that is not dsh's
   */
  constructor(context, packages, fail) {
    this.#context = context
    this.#events = eventsOf(packages)
    this.#fail = fail
    this.#listen('internal/dispatch', (_mode, name) => {
      if (!(name in this.#events || name === RECORD || name === FLUSH || HOOKS.has(name))) this.#unknown.add(name)
    })
    for (const name of [...Object.keys(this.#events), RECORD, FLUSH]) {
      this.#listen(name, (...payload) => {
        if (name === 'session/created') this.#name(payload[0])
        const row = this.#row(name, payload)
        if (row) this.#rows.push(row)
      })
    }
  }

  /** How many rows there are: what tells whether anything happened. */
  get length() {
    return this.#rows.length
  }

  push(row) {
    this.#rows.push(row)
  }

  /** Note a name that there is no word for. */
  note(name) {
    this.#unknown.add(name)
  }

  /** Give the rows since the last time, and the names of what has no word, and forget both. */
  take() {
    const unknown = [...this.#unknown]
    this.#unknown.clear()
    return { events: this.#rows.splice(0), unknown }
  }

  /** Let the recorder know whose agent and session these are. */
  belongs(creation, agent) {
    this.#known.set(agent, creation)
    this.#known.set(agent.session, creation)
  }

  /** Give the creation that an agent or a session belongs to. */
  creationOf(subject) {
    return this.#known.get(subject)
  }

  /** Give all agents that were ever made. */
  agents() {
    return [...this.#known.keys()].filter((subject) => subject.session)
  }

  /** Tell that a body heard its signal, and let the reactions hear it too. */
  signal(creation, cause) {
    const row = { event: 'signal', agent: creation.ref, turn: creation.turn, cause }
    this.#rows.push(row)
    for (const hear of [...this.#hearers]) {
      try {
        hear(row, creation)?.catch(() => {})
      } catch (error) {
        if (!(error instanceof Scripted)) this.#fail(error)
      }
    }
  }

  /**
   * Listen for an event of the alphabet, after whoever listens already.
   *
   * @param event its name there
   * @param hear called with the row and the creation that it is of; what it gives or throws is the listener's
   */
  on(event, hear) {
    if (event === 'signal') this.#hearers.push(hear)
    const name = event === 'log' ? RECORD : event
    if (!(name in this.#events || name === RECORD || name === FLUSH)) return
    this.#listen(name, (...payload) => {
      const row = this.#row(name, payload)
      return row && hear(row, this.#creationIn(name, payload))
    })
  }

  #listen(name, hear) {
    const listener = (...payload) => {
      try {
        return hear(...payload)
      } catch (error) {
        if (error instanceof Scripted) throw error
        this.#fail(error)
      }
    }
    this.#context.on(name, listener, { global: true })
  }

  #name(session) {
    const creation = this.#known.get(session)
    const number = (this.#numbers.get(creation.id) ?? 0) + 1
    this.#numbers.set(creation.id, number)
    creation.ref = `${creation.id}#${number}`
  }

  #creationIn(name, payload) {
    return this.#known.get(name in this.#events ? this.#events[name](payload[0]).of : payload[0])
  }

  #row(name, payload) {
    if (name === RECORD) return this.#recordRow(...payload)
    const creation = this.#creationIn(name, payload)
    if (name === FLUSH) return { event: name, agent: creation.ref, upto: creation.records }
    const { of, ...fields } = this.#events[name](payload[0])
    return { event: name, agent: creation.ref, ...fields }
  }

  #recordRow(session, event) {
    if (this.#records.has(event)) return this.#records.get(event)
    const creation = this.#known.get(session)
    const record = recordOf(event)
    if (!record && !isOutside(event)) this.#unknown.add(`${RECORD} ${event.type}`)
    if (ENDS_OF_BODIES.has(record?.record)) creation.inFlight = undefined
    const row = record && { event: 'log', agent: creation.ref, seq: creation.records++, record }
    this.#records.set(event, row)
    return row
  }
}

/** Tell whether a row is what a reaction waits for. The fields of a record can be named as if they were the event's own. */
export function matches(row, { where }) {
  return where.every(([field, value]) => {
    const own = field === 'record' ? row.record?.record : field in row ? row[field] : row.record?.[field]
    return own === value
  })
}
