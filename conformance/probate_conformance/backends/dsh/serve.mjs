/**
 * The line protocol: one line of JSON in, one line of JSON out (see `wire.py`). All seats speak it on their own stdio.
 *
 * Standard output carries the protocol and nothing else, and nothing here may ever reach a real endpoint.
 */
import net from 'node:net'
import { createInterface } from 'node:readline'

import { manifestOf } from './manifest.mjs'
import { World } from './world.mjs'

const PROTOCOL = 1

/**
 * Serve until standard input ends.
 *
 * @param packages the exports of dsh that are driven
 * @param version which release they are of
 */
export async function serve(packages, version) {
  const write = process.stdout.write.bind(process.stdout)
  process.stdout.write = process.stderr.write.bind(process.stderr)
  globalThis.fetch = net.Socket.prototype.connect = () => {
    throw new Error('the adapter reaches no network')
  }
  const manifest = manifestOf(version)
  let world

  async function answer(line) {
    const message = JSON.parse(line)
    if (message.message === 'burst' && !world) throw new Error('a burst came before any world was opened')
    switch (message.message) {
      case 'hello':
        return { message: 'hello', protocol: PROTOCOL, manifest }
      case 'open':
        world = await World.open(packages, message.world)
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

  for (const [event, tell] of [['unhandledRejection', 'leave'], ['uncaughtException', 'fail']]) {
    process.removeAllListeners(event) // those of the runtime that we are in end it
    process.on(event, (error) => {
      if (world) world[tell](error)
      else throw error
    })
  }

  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const reply = await answer(line).catch((error) => ({
      message: 'broke',
      reason: String(error?.stack ?? error) || 'no reason was given',
    }))
    write(`${JSON.stringify(reply)}\n`)
  }
  process.exit(0)
}
