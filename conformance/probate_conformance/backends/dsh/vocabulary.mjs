/**
 * What dsh says, in the words of the alphabet.
 *
 * Most events have the name that the alphabet gives them. Records of the log come as one event, `session/event`, and are
 * told apart by their type; how a turn ended, who cancelled it and how a tool call went is said in nested objects whose
 * shape is the same in every release that we know. What has no word here is kept: its name goes into the report.
 */

/** How dsh says why it refuses a creation; it gives almost none of the reasons a code. */
const OF_CREATION = [
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

/** How it says why it refuses input. */
const OF_INPUT = [
  ['invalid-content', /carries non-JSON-serializable data$/],
  ['reentrant', /^session append cannot reenter /],
]

/** How it says each refusal, by the op that is refused; what it says otherwise is no refusal. */
const REFUSALS = { create: OF_CREATION, send: OF_INPUT, steer: OF_INPUT, inject: OF_INPUT }

/** An error of ours, known again by identity whatever it goes through. */
export class Scripted extends Error {
  /** @param {string} code what a call settles with that fails with this */
  constructor(code) {
    super(code)
    this.scripted = code
  }
}

/** Where the adapter is. */
const HERE = new URL('.', import.meta.url).href

/** Tell whether an error comes out of the adapter's own code, and not out of dsh's, or by the kit's order. */
export function isOurs(error) {
  if (error instanceof Scripted) return false
  const [frame] = /^ +at .*$/m.exec(String(error?.stack)) ?? ['']
  return frame.includes(HERE)
}

/** Give the code of the alphabet for an error that a call of an op ended with. */
export function codeOf(op, error) {
  if (error instanceof Scripted) return error.scripted
  const message = String(error?.message ?? error)
  return REFUSALS[op]?.find(([, pattern]) => pattern.test(message))?.[0] ?? 'unspecified'
}

/** Give why a cancel is asked for, as dsh is told it: a hook has to say more. */
export const causeOf = ({ cause }) => (cause === 'hook' ? { kind: cause, reason: 'the kit says so' } : { kind: cause })

/** Who speaks, as dsh is told it. What it logs of others is no message of the kit's. */
export const USER = { kind: 'user' }

/** How the kit names the calls of a batch, so that dsh says their number. */
export const callId = (answer, n) => `${answer}/${n}`
const numberOf = (id) => Number(String(id).slice(String(id).lastIndexOf('/') + 1))

const textOf = (message) =>
  message.content
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('')

/** A result is a block of its message, and since 0.2 the message itself. */
function toolOutcome({ message, error }) {
  const result = message.content.find((block) => block.type === 'tool-result') ?? message
  const n = numberOf(result.toolCallId)
  if (!result.isError) return { n, outcome: 'ok' }
  return { n, outcome: error?.code === 'ABORTED' || error?.code === 'ABORTED_BEFORE_DISPATCH' ? 'aborted' : 'error' }
}

/** One change of the inbox is a splice, whatever it does. */
function inboxChange({ target, inserted, removedCount, outcome }) {
  if (inserted.length) return { record: 'inbox/inserted', queue: target, text: textOf(inserted[0]) }
  return { record: outcome === 'canceled' ? 'inbox/discarded' : 'inbox/claimed', queue: target, count: removedCount }
}

/**
 * Why a turn ended: dsh keeps the cause of an abort, and the alphabet does so too. An agent that is disposed of aborts
 * its turn for that cause.
 */
const turnEnd = ({ turn, reason }) => ({
  turn,
  outcome: reason.kind,
  cause: reason.kind === 'aborted' ? reason.reason.kind : null,
})

/** The records of the log, by the type that dsh gives them; undefined for what is none of the kit's. */
const RECORDS = {
  'agent/inbox/spliced': inboxChange,
  'turn/start': ({ turn }) => ({ turn, trigger: 'message' }),
  'user/message': (message) => (message.source.kind === USER.kind ? { text: textOf(message) } : undefined),
  'step/start': ({ turn, step }) => ({ turn, step }),
  'assistant/message': ({ message }) => ({ text: textOf(message) }),
  'tool/call': (call) => ({ n: numberOf(call.callId) }),
  'tool/result': toolOutcome,
  'step/end': ({ turn, step }) => ({ turn, step }),
  'turn/end': turnEnd,
}

/** Records that the comparison leaves out: chunks of a stream, and what was asked of the model. */
const OUTSIDE = new Set([
  'assistant/attempt',
  'assistant/chunk',
  'request/context',
  'request/header',
  'system/message',
])

/** Give a record of dsh's log in the words of the alphabet; undefined if there are none. */
export function recordOf({ type, data }) {
  const fields = RECORDS[type]?.(data)
  return fields && { record: type, ...fields }
}

/** Tell whether a record that has no word is left out on purpose. */
export const isOutside = ({ type }) => OUTSIDE.has(type)

/**
 * The events that become rows, by the name that dsh gives them: whose agent or session each is of, and its fields.
 *
 * `LlmError` is the class of those errors that came from the model.
 */
export const eventsOf = ({ LlmError }) => ({
  'session/created': (session) => ({ of: session }),
  'agent/created': ({ agent }) => ({ of: agent }),
  'agent/session-start': ({ agent, source }) => ({ of: agent, source }),
  'agent/status': ({ agent, status }) => ({ of: agent, status }),
  'agent/error': ({ agent, step, error }) => ({ of: agent, step, source: error instanceof LlmError ? 'model' : 'internal' }),
  'agent/disposed': ({ agent }) => ({ of: agent }),
  'session/disposed': (session) => ({ of: session }),
})
