/**
 * Gates that the kit opens and closes, and the bodies that wait at them.
 *
 * Any gate may be spoken of before the creation that arrives at it. A hold has a temper: a body that honours its signal
 * stops waiting when it fires, a deaf one waits on until it is released. Either hears it, and that is what `heard` is
 * told; who passes an open gate is in no body that could hear anything.
 */

/** What an arrival gets whose wait was ended by its signal. */
export const ABORTED = Symbol('aborted')

/** The outcome of an arrival at an open gate with nothing planned, where it is not `ok`. */
const DEFAULTS = { model: 'text' }

export class Gates {
  #gates = new Map()

  #get({ kind, creation }) {
    const key = JSON.stringify([kind, creation])
    let gate = this.#gates.get(key)
    if (!gate) {
      gate = { usual: DEFAULTS[kind] ?? 'ok', held: false, deaf: false, plan: [], waiting: [] }
      this.#gates.set(key, gate)
    }
    return gate
  }

  /**
   * Arrive: resolves with the outcome, at once unless the gate is held.
   *
   * @param kind the kind of gate
   * @param creation the label of the creation that arrives
   * @param signal what ends the wait of a body that honours it; none for a body without one
   * @param heard told, inside its dispatch, that the signal of a body fired that has waited or waits
   */
  arrive(kind, creation, signal, heard) {
    const gate = this.#get({ kind, creation })
    if (!gate.held) return Promise.resolve(gate.plan.shift() ?? gate.usual)
    const { deaf } = gate
    const { promise, resolve: go } = Promise.withResolvers()
    gate.waiting.push(go)
    const hear = () => {
      const place = gate.waiting.indexOf(go)
      if (!deaf && place >= 0) {
        gate.waiting.splice(place, 1)
        go(ABORTED)
      }
      heard?.()
    }
    signal?.addEventListener('abort', hear, { once: true })
    return promise
  }

  plan(item) {
    this.#get(item.gate).plan.push(...item.outcomes)
  }

  hold(item) {
    const gate = this.#get(item.gate)
    gate.held = true
    gate.deaf = item.temper === 'deaf'
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
    for (const go of gate.waiting.splice(0)) go(gate.usual)
  }
}
