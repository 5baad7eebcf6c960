/** What the adapter says of itself, and of the release that it drives. */

const NOTES = [
  'A model shows the text of its answer before it waits at its gate.',
  'The agent loop never flushes: a plug-in of its own decides when, and is not mounted. So no flush can be held.',
  'Withdraw calls the teardown that the handle carries as dispose, also before the handle is returned. dsh exports ' +
    'nothing that gives it before; it is taken from the factory, and checked to be that function once the handle is there.',
  'A fiber can be disposed once: a second call returns at once. Whoever joins an unload is given the promise of the ' +
    'first call.',
  'Mounting a plug-in is asynchronous, and the contract wants the provider loaded within the call: loading it again is ' +
    'not claimed.',
]

/**
 * Give the manifest.
 *
 * @param packages the exports of dsh that are driven
 * @param version which release they are of
 */
export function manifestOf(packages, version) {
  return {
    name: 'dsh',
    version,
    language: 'javascript',
    profiles: ['core'],
    edition: '2026-08',
    bursts: 'yes',
    unclaimed: {
      events: [],
      ops: ['resume', 'load_provider'],
      gates: ['flush', 'load'],
      codes: ['no-persistence', 'not-found'],
      fields: [],
    },
    notes: NOTES,
  }
}
