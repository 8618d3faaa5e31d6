/** The running program with an agent whose model makes the calls that a test sends it as text. */
import { randomUUID } from 'node:crypto';
import { startFakeOllama } from './fake/ollama.ts';
import type { ModelCall, Step } from './fake/model-server.ts';
import { startReceiver } from './fake/receiver.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from './program.ts';

export type Asked = { readonly name: string; readonly arguments: unknown };

export interface CagedAgent extends AsyncDisposable {
  /** Sends a message for which the model makes that call. @returns what the model is told */
  call(asked: Asked, message?: Readonly<Record<string, unknown>>): Promise<string>;
  log(): string;
}

type Line = { readonly role: string; readonly content: string };

const linesOf = ({ body }: ModelCall): readonly Line[] =>
  (body as { readonly messages: readonly Line[] }).messages;

/** First the call that the message is, then an answer. */
function obey(call: ModelCall): Step {
  const last = linesOf(call).at(-1)!;
  if (last.role !== 'user') return { answer: 'That was it.' };
  const { asked } = JSON.parse(last.content.split('\n')[0]!) as { asked: Asked };
  return { answer: '', calls: [asked] };
}

/** @param agent the agent's block; @param env the program's environment beside its secrets */
export async function startCagedAgent(
  agent: object,
  sensitivity: 'public' | 'private',
  env: Record<string, string> = {},
): Promise<CagedAgent> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const model = stack.use(await startFakeOllama(obey));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  Object.assign(config.brains[0]!, { sensitivity, agent });
  const program = stack.use(await serve(await writeConfig(folder.path, config), port, env));
  const open = stack.move();
  return {
    log: program.log,
    async call(asked, message = {}) {
      const id = randomUUID();
      const text = JSON.stringify({ id, asked });
      const { status } = await post(program.url, { sender_id: id, text, ...message });
      if (status !== 200) throw new Error(`the message was answered with ${status}`);
      while (!receiver.received.some(({ body }) => body['conversation_id'] === id)) {
        await receiver.waitFor(receiver.received.length + 1);
      }
      const told = model.calls.map(linesOf).find((lines) => {
        const asking = lines.find(({ role }) => role === 'user');
        return asking?.content.includes(id) === true && lines.at(-1)!.role === 'tool';
      });
      return told === undefined ? '(the call was not made)' : told.at(-1)!.content;
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
