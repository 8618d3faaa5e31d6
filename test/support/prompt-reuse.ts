/**
 * How much of each prompt begins the next one, so that a prompt cache of the runtime or a provider
 * can use it. The whole program holds a conversation, and its model's server reads the prompts.
 */
import type { ModelCall, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from './in-process.ts';
import { until } from './waiting.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from './program.ts';

type Body = {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: unknown;
};

export type Talk = {
  readonly provider: 'local_runtime' | 'hosted_runtime';
  readonly turns: number;
  /** Fields of the brain. */
  readonly brain?: object;
  /** Replaces the answer of a turn; null: the answer. `turn` counts from 0. */
  readonly calls?: (turn: number) => Step | null;
  /** The service restarts before these turns. */
  readonly restarts?: readonly number[];
  /** The length of a message and of a reply, in characters. */
  readonly characters?: readonly [number, number];
};

export type Prompts = {
  /** The prompts of each turn's first call, in order. */
  readonly first: readonly string[];
  /** The prompts of all calls. */
  readonly all: readonly string[];
};

/** An agent's call of a tool, as the fake servers write it. */
const takesNote = (turn: number): Step => ({
  answer: '',
  calls: [{ name: 'memory_note', arguments: { text: `Fact ${turn}: the person likes walks.` } }],
});

const asAgent = (tools: readonly string[]): object => ({
  agent: { tools, system_prompt: 'You are a friendly guide.', memory: {} },
});

/** 100 turns of about 200 characters. */
export const talks = {
  'a brain': { provider: 'hosted_runtime', turns: 100 },
  'an agent': { provider: 'hosted_runtime', turns: 100, brain: asAgent(['time', 'calc']) },
  'an agent that takes a note every third turn': {
    provider: 'hosted_runtime',
    turns: 100,
    brain: asAgent(['memory_note']),
    calls: (turn) => (turn % 3 === 0 ? takesNote(turn) : null),
  },
} satisfies Readonly<Record<string, Talk>>;

const sentence = 'The quick brown fox jumps over the lazy dog while it rains in the hills. ';

function textOf(name: string, length: number): string {
  return `${name} ${sentence.repeat(Math.ceil(length / sentence.length))}`.slice(0, length);
}

/** The input of the model in the order of a chat template: tools, then lines. */
export function promptOf({ body }: Pick<ModelCall, 'body'>): string {
  const { messages, tools } = body as Body;
  const lines = messages.map((line) => JSON.stringify(line));
  return [...(tools === undefined ? [] : [JSON.stringify(tools)]), ...lines].join('\n');
}

/** The share of a prompt, from 0 to 1, that is the beginning of the next one. */
export function shareIn(prompt: string, next: string): number {
  let same = 0;
  while (same < prompt.length && prompt[same] === next[same]) same++;
  return prompt === '' ? 0 : same / prompt.length;
}

/** The mean over consecutive prompts. */
export function meanShare(prompts: readonly string[]): number {
  const shares = prompts.slice(1).map((next, at) => shareIn(prompts[at]!, next));
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

/** Holds a conversation, one message after the other. */
export async function promptsOf(talk: Talk): Promise<Prompts> {
  const { provider, turns, brain = {}, calls = () => null, restarts = [] } = talk;
  const [asked, answered] = talk.characters ?? [80, 120];
  let turn = 0;
  let isFirst = true;
  const script = (): Step => {
    const wanted = isFirst ? calls(turn) : null;
    isFirst = false;
    return wanted ?? { answer: textOf(`answer ${turn}`, answered) };
  };
  await using own = new AsyncDisposableStack();
  const folder = own.use(await scratch());
  const receiver = own.use(await startReceiver());
  const isLocal = provider === 'local_runtime';
  const model = own.use(await (isLocal ? startFakeOllama(script) : startFakeOpenai(script)));
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = webhookConfig({
    port,
    adminPort,
    modelUrl: model.url,
    receiverUrl: receiver.url,
  });
  const [written] = config.brains as { models?: object[] }[];
  const brains = [{ ...written, models: [{ ...written!.models![0], provider }], ...brain }];
  const file = await writeConfig(folder.path, {
    ...config,
    brains,
    storage: { path: 'svc.db' },
  });
  const first: string[] = [];
  let program = await serveHere(file, port);
  try {
    for (; turn < turns; turn++) {
      if (restarts.includes(turn)) {
        await program[Symbol.asyncDispose]();
        program = await serveHere(file, port);
      }
      isFirst = true;
      const before = model.calls.length;
      await post(program.url, { sender_id: 'ada', text: textOf(`question ${turn}`, asked) });
      // A reply on its way at the stop may come twice.
      await model.call(before);
      const replies = (): number =>
        new Set(receiver.received.map(({ body }) => body['in_reply_to'])).size;
      await until('the reply', () => replies() > turn);
      first.push(promptOf(model.calls[before]!));
    }
  } finally {
    await program[Symbol.asyncDispose]();
  }
  return { first, all: model.calls.map(promptOf) };
}
