// The packages that the adapter needs. It is copied beside `node_modules`, because a module's imports are looked up
// from where the module is, and the adapter itself stays where Python installed it.
export { Context } from '@deepseek-ai/cordis'
export { AgentRegistry } from '@deepseek-ai/dsh-agent'
export { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
export { LlmAdapter, LlmError, LlmRuntime, createUserMessage } from '@deepseek-ai/dsh-llm'
export { SessionStore } from '@deepseek-ai/dsh-session'
export { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
export { ToolRuntime } from '@deepseek-ai/dsh-tools'
