// The client of the npm SDK against an agent, as an editor would drive it. Says what happened as lines of JSON.
//
//   node client.mjs SDK FOLDER first|load [SESSION] -- COMMAND [ARGUMENT ...]
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, folder, what, session, dashes, ...command] = process.argv.slice(2);
if (dashes !== "--") throw new Error("usage");
const resolve = createRequire(path.join(sdk, "package.json"));
const entry = resolve.resolve("@agentclientprotocol/sdk");
const acp = await import(pathToFileURL(entry).href);

const say = (fact) => process.stdout.write(JSON.stringify(fact) + "\n");
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const gone = new Promise((done) => agent.on("exit", (code, signal) => done({ code, signal })));
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const { agent: ours, client: theirs } = acp.methods;
const text = (said) => [{ type: "text", text: said }];
let heard;
const answered = new Promise((done) => (heard = done));

await acp
  .client({ name: "probate-test" })
  .onRequest(theirs.session.requestPermission, ({ params }) => {
    say({ question: params.toolCall.title });
    const option = params.options.find((one) => one.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onNotification(theirs.session.update, ({ params }) => {
    const { sessionUpdate, content, status } = params.update;
    say({ update: sessionUpdate, text: content?.text, status });
    if (content?.text === "Hm") heard();
  })
  .connectWith(stream, async (context) => {
    const initialized = await context.request(ours.initialize, { protocolVersion: 1, clientCapabilities: {} });
    say({ version: initialized.protocolVersion, load: initialized.agentCapabilities.loadSession });
    if (what === "load") {
      await context.request(ours.session.load, { sessionId: session, cwd: folder, mcpServers: [] });
      say({ loaded: session });
      const stopped = await context.request(ours.session.prompt, { sessionId: session, prompt: text("more") });
      say({ stopped: stopped.stopReason });
      return;
    }
    const { sessionId } = await context.request(ours.session.new, { cwd: folder, mcpServers: [] });
    say({ session: sessionId });
    const first = await context.request(ours.session.prompt, { sessionId, prompt: text("go") });
    say({ stopped: first.stopReason });
    const second = context.request(ours.session.prompt, { sessionId, prompt: text("wait") });
    await answered;
    await context.notify(ours.session.cancel, { sessionId });
    say({ stopped: (await second).stopReason });
  });
agent.stdin.end();
say({ gone: await gone });
