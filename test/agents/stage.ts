/** The running program with one agent, on either wire. */
import type { FakeModel, ModelCall, Script, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import {
  freePort,
  post,
  scratch,
  webhookConfig,
  writeConfig,
  type serve,
} from '../support/program.ts';

type Line = {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly { readonly id?: string; function: { arguments: unknown } }[];
  readonly tool_call_id?: string;
};
type Body = {
  readonly messages: readonly Line[];
  readonly tools?: { function: { name: string } }[];
  readonly tool_choice?: string;
};

/** The request of a model, on either wire. */
export const bodyOf = ({ body }: ModelCall): Body => body as Body;
export const toolsOf = (call: ModelCall): readonly string[] =>
  (bodyOf(call).tools ?? []).map((one) => one.function.name);
export const lastOf = (call: ModelCall): Line => bodyOf(call).messages.at(-1)!;

export type Scene = AsyncDisposable & {
  readonly model: FakeModel;
  readonly receiver: Receiver;
  /** The address for messages. */
  readonly url: string;
  readonly adminPort: number;
  /** The folder of the program and its files. */
  readonly folder: string;
  log(): string;
  metrics(): Promise<string>;
  /** Sends a message; resolves with the text of its reply. */
  say(text: string): Promise<string>;
};

export type Wire = {
  readonly provider: 'local_runtime' | 'hosted_runtime';
  start(script: Script): Promise<FakeModel>;
};

export const wires: readonly Wire[] = [
  { provider: 'local_runtime', start: (script) => startFakeOllama(script) },
  { provider: 'hosted_runtime', start: (script) => startFakeOpenai(script) },
];

/**
 * @param agent the block of the brain, with relative paths from the scene's folder
 * @param more `env` of the program beside its secrets; other fields of its brain; `storage` in the
 * place of a file; `serve` for a process of its own
 */
export async function stage(
  wire: Wire,
  agent: object,
  script: Script,
  more: {
    readonly env?: Record<string, string>;
    readonly brain?: object;
    readonly storage?: object;
    readonly serve?: typeof serve;
  } = {},
): Promise<Scene> {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const model = stack.use(await wire.start(script));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  const brain = config.brains[0]!;
  Object.assign((brain['models'] as object[])[0]!, { provider: wire.provider });
  Object.assign(brain, { agent }, more.brain);
  const { storage = { path: 'svc.db' } } = more;
  const file = await writeConfig(folder.path, { ...config, storage });
  const program = stack.use(await (more.serve ?? serveHere)(file, port, more.env));
  let sent = 0;
  return {
    model,
    receiver,
    url: program.url,
    adminPort,
    folder: folder.path,
    log: program.log,
    metrics: async () => (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text(),
    async say(text) {
      await post(program.url, { sender_id: 'ada', text });
      const replies = await receiver.waitFor(++sent);
      return String(replies[sent - 1]!.body['text']);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Takes these steps in order from now on, and repeats the last. */
export function inTurn(...steps: readonly Step[]): Script {
  let at = 0;
  return () => steps[Math.min(at++, steps.length - 1)]!;
}

/** The model calls this tool. */
export function asks(name: string, given: unknown, beside = ''): Step {
  return { answer: beside, calls: [{ name, arguments: given }] };
}

export const refusesTools: Step = {
  status: 400,
  body: '{"error": "the model does not support tools"}',
};
