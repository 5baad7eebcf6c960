/**
 * The seat inside the packaged runtime: a plug-in that the executable mounts, and that serves on the process's own stdio.
 *
 * The runtime carries its packages inside of itself and answers to none of their bare names. Where they are can be
 * learned from a stack trace, since it is one of them that calls us; from there they are imported by their addresses,
 * and so are the very modules that the runtime itself runs. What it has mounted is left alone.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { serve } from './serve.mjs'

export const name = 'probate'

const CALLER = /(file:\/\/\S*\/@deepseek-ai\/)cordis\//

/** Which package exports what the adapter drives; the last one is in newer releases only. */
const EXPORTS = {
  cordis: ['Context'],
  'dsh-agent': ['AgentRegistry'],
  'dsh-agent-loop': ['AgentLoop'],
  'dsh-llm': ['LlmAdapter', 'LlmError', 'LlmRuntime', 'createUserMessage'],
  'dsh-session': ['SessionStore'],
  'dsh-session-projection': ['SessionProjectionRegistry'],
  'dsh-system-prompt': ['SystemPrompt'],
  'dsh-tools': ['ToolRuntime'],
}

/** Mounted by the runtime. What goes wrong ends the process: nobody else is to be served by it. */
export function apply() {
  const place = CALLER.exec(new Error('who calls').stack)?.[1]
  run(place).catch((error) => {
    console.error(error)
    process.exit(70)
  })
}

async function run(place) {
  if (place === undefined) throw new Error('the packages of the runtime are not where they were')
  const packages = {}
  for (const [folder, names] of Object.entries(EXPORTS)) {
    const module = await import(`${place}${folder}/lib/index.js`)
    for (const name of names) packages[name] = module[name]
  }
  const about = fileURLToPath(`${place}dsh-agent-loop/package.json`)
  await serve(packages, JSON.parse(readFileSync(about, 'utf8')).version)
}
