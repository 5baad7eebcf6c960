/** The seat in a Node process of our own: `node adapter.mjs FOLDER`, where npm put the packages into FOLDER. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { serve } from './serve.mjs'

const folder = process.argv[2]
const packages = await import(pathToFileURL(join(folder, 'packages.mjs')))
const about = join(folder, 'node_modules', '@deepseek-ai', 'dsh-agent-loop', 'package.json')
await serve(packages, JSON.parse(readFileSync(about, 'utf8')).version)
