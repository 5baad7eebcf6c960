/** What the adapter says of itself, and of the release that it drives. */

const NOTES = [
  'A model shows the text of its answer before it waits at its gate.',
  'The agent loop never flushes: a plug-in of its own decides when, and is not mounted. So no flush can be held.',
  'Withdraw calls the teardown that the handle carries as dispose, also before the handle is returned. dsh exports ' +
    'nothing that gives it before; it is taken from the factory, and checked to be that function once the handle is ' +
    'there.',
  'A setup that fails once its creation was ended is left to the process as an unhandled rejection. The adapter handles it.',
  'Another rejection that dsh leaves to the process, where it would end it, is counted as unhandledRejection.',
  'A fiber can be disposed once: a second call returns at once. Whoever joins an unload is given the promise of the ' +
    'first call.',
  'Mounting a plug-in is asynchronous, and the contract wants the provider loaded within the call: loading it again is ' +
    'not claimed.',
]

/** What can't be claimed from some release on, with the reason. */
const LACKS = [
  {
    since: [0, 1, 5],
    ops: ['withdraw'],
    note: 'A creation is prepared some time after the call, and until then nothing is there by which it could be withdrawn.',
  },
  {
    since: [0, 2, 0],
    events: ['agent/session-start'],
    note: 'The start of a session is not announced: its source came to be a field of agent/created.',
  },
]

/** Tell whether a version is of some release or of one after it. */
function isSince(version, since) {
  const parts = version.split(/[.-]/).map(Number)
  const differing = since.findIndex((part, place) => part !== parts[place])
  return differing < 0 || parts[differing] > since[differing]
}

/**
 * Give the manifest.
 *
 * @param version which release is driven
 */
export function manifestOf(version) {
  const lacks = LACKS.filter(({ since }) => isSince(version, since))
  return {
    name: 'dsh',
    version,
    language: 'javascript',
    profiles: ['core'],
    edition: '2026-08',
    bursts: 'yes',
    unclaimed: {
      events: lacks.flatMap(({ events = [] }) => events),
      ops: ['resume', 'load_provider', ...lacks.flatMap(({ ops = [] }) => ops)],
      gates: ['flush', 'load'],
      codes: ['no-persistence', 'not-found'],
      fields: [],
    },
    notes: [...NOTES, ...lacks.map(({ note }) => note)],
  }
}
