/**
 * The bodies that an agent runs: a model and a tool, each of which does what the kit says at its gate.
 *
 * The model shows the first part of its answer and then waits, so that an abort meets a stream that has begun. The whole
 * of the answer is that part, and its text says whose answer it is and which: nothing else tells two answers apart.
 */
import { ABORTED } from './gates.mjs'
import { callId } from './vocabulary.mjs'

/** The route that every agent is created with. */
export const ROUTE = { provider: 'probate', model: 'scripted' }

const TOOL = 'work'
const NOTHING = { type: 'object', properties: {} }

/** How many tool calls a model outcome asks for. */
const toolCount = (outcome) => Number(/tools:(\d+)$/.exec(outcome)?.[1] ?? 0)

/**
 * Make the model: an adapter for the one route.
 *
 * @param LlmAdapter the class that an adapter extends
 * @param arrive called with the signal of the request and resolved with the outcome, once the gate lets it go on
 * @param nextAnswer gives the text of the next answer of the agent that asks, and what to call once it has arrived
 */
export function scriptedModel(LlmAdapter, arrive, nextAnswer) {
  return new (class extends LlmAdapter {
    async *stream({ signal }) {
      const [text, arrived] = nextAnswer()
      yield { type: 'block-start', index: 0, blockType: 'text' }
      yield { type: 'text-delta', index: 0, text }
      arrived() // who asks for more has taken it; an answer that nobody took is none
      const outcome = await arrive(signal)
      if (outcome === ABORTED) throw signal.reason
      if (outcome === 'error') {
        yield { type: 'finish', reason: { kind: 'error', failure: { message: 'the kit says so', code: 'SCRIPTED' } } }
        return
      }
      yield { type: 'block-end', index: 0, block: { type: 'text', text } }
      const tools = toolCount(outcome)
      for (let n = 1; n <= tools; n++) {
        const block = { type: 'tool-call', id: callId(text, n), name: TOOL, arguments: '{}' }
        yield { type: 'block-start', index: n, blockType: 'tool-call' }
        yield { type: 'tool-call-delta', index: n, id: block.id, name: TOOL, argumentsDelta: '{}' }
        yield { type: 'block-end', index: n, block }
      }
      const kind = outcome.startsWith('max-tokens') ? 'max-tokens' : tools ? 'tool-calls' : 'stop'
      yield { type: 'finish', reason: { kind } }
    }
  })()
}

/**
 * Make the tool. It returns when its signal ends its wait, as a body does that stops when it is asked to.
 *
 * @param arrive called with the execution, and resolved with the outcome once the gate lets it go on
 */
export function scriptedTool(arrive) {
  return {
    name: TOOL,
    description: 'does what the kit says',
    parameters: NOTHING,
    output: { schema: NOTHING, render: () => [{ type: 'text', text: 'done' }] },
    async execute(_arguments, execution) {
      if ((await arrive(execution)) === 'error') throw new Error('the kit says so')
      return {}
    },
  }
}
