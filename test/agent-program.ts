/** The running program with an agent whose model makes the call it is told, and says the result. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ModelCall, Step } from './fake/model-server.ts';
import { startFakeOllama } from './fake/ollama.ts';
import { startReceiver } from './fake/receiver.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from './program.ts';

export type AgentProgram = AsyncDisposable & {
  /** The folder of the configuration file. */
  readonly folder: string;
  /** A message whose turn makes this call; resolves with what the model was told. */
  call(tool: string, args: unknown): Promise<string>;
  /** Ends the program; all that it said, stored, sent and logged, by where it was found. */
  everything(): Promise<Readonly<Record<string, string>>>;
};

type Lines = readonly { readonly role: string; readonly content: string }[];

export async function startAgentProgram(
  agent: object,
  env: Record<string, string> = {},
): Promise<AgentProgram> {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const calls: { readonly name: string; readonly arguments: unknown }[] = [];
  const model = stack.use(await startFakeOllama((call) => stepOf(call, calls)));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = webhookConfig({ port, adminPort, modelUrl: model.url, receiverUrl: receiver.url });
  Object.assign(config.brains[0]!, { agent });
  const file = await writeConfig(folder.path, { ...config, storage: { path: 'svc.db' } });
  const program = stack.use(await serve(file, port, env));
  const toldTo = async (sender: string): Promise<string> => {
    for (let count = 1; ; count++) {
      const replies = await receiver.waitFor(count);
      const reply = replies.find(({ body }) => body['conversation_id'] === sender);
      if (reply !== undefined) return String(reply.body['text']);
    }
  };
  return {
    folder: folder.path,
    async call(name, given) {
      const sender = `call-${calls.push({ name, arguments: given }) - 1}`;
      const { status } = await post(program.url, { sender_id: sender, text: sender });
      assert.equal(status, 200);
      return toldTo(sender);
    },
    async everything() {
      const page = async (path: string): Promise<string> =>
        (await fetch(`http://127.0.0.1:${adminPort}${path}`)).text();
      const found: Record<string, string> = {
        metrics: await page('/metrics'),
        messages: await page('/api/v1/messages'),
        requests: model.calls.map(({ text }) => text).join('\n'),
        replies: JSON.stringify(receiver.received.map(({ body }) => body)),
      };
      program.child.kill('SIGTERM');
      assert.equal(await program.ended, 0);
      for (const name of readdirSync(dirname(file))) {
        if (name.startsWith('svc.db'))
          found[name] = readFileSync(join(dirname(file), name), 'utf8');
      }
      return { ...found, log: program.log() };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The message's text names the call; what comes back is the answer. */
function stepOf(call: ModelCall, calls: readonly { name: string; arguments: unknown }[]): Step {
  const { messages } = call.body as { messages: Lines };
  const { role, content } = messages.at(-1)!;
  if (role === 'user') {
    const asked = calls[Number(/^call-(\d+)$/.exec(content)![1])]!;
    return { answer: '', calls: [asked] };
  }
  const [, , text] = /^\[data (\S+)\] result of \w+\n([^]*)\n\[end \1\]$/.exec(content)!;
  return { answer: text! };
}
