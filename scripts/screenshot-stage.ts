/**
 * A running svc for the pictures of the live view: a family on Telegram, a support desk behind a
 * webhook, models of Ollama and of OpenAI. All of them are fakes.
 */
import { join } from 'node:path';
import { minuteMs } from '../src/lib/durations.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createIdSource } from '../src/domain/ids.ts';
import { openSqliteLedger } from '../src/ledger/sqlite/sqlite.ts';
import { Bucket } from '../src/telemetry/figures/counting.ts';
import { figureRow } from '../test/fake/figure-rows.ts';
import type { Script } from '../test/fake/model-server.ts';
import { startFakeOllama } from '../test/fake/ollama.ts';
import { startFakeOpenai } from '../test/fake/openai.ts';
import { startReceiver, type Receiver } from '../test/fake/receiver.ts';
import { startFakeTelegram, type FakeTelegram } from '../test/fake/telegram.ts';
import type { Chat } from '../test/fake/telegram/wire.ts';
import {
  freePort,
  post,
  scratch,
  serve,
  webhookConfig,
  writeConfig,
} from '../test/support/program.ts';

export type ScreenshotStage = AsyncDisposable & {
  /** Of the live view. */
  readonly origin: string;
  readonly receiver: Receiver;
  readonly telegram: FakeTelegram;
  /** The private chats of the family. */
  readonly chats: readonly Chat[];
  /** Sends a question to the webhook and returns its id. */
  ask(question: string, conversation: string): Promise<string>;
};

const hours = 'When do you open on Saturday?';
/** The questions to the support desk. */
export const questions = [hours, 'Do you ship to Norway?', 'May I return a gift?'] as const;

const thinkMs: Readonly<Record<string, number>> = {
  'llama3.2': 430,
  'qwen3:8b': 640,
  'gpt-6-luna': 910,
};

/** Two of three models agree, each after some thought. */
const think: Script = ({ body }, before) => {
  const { model } = body as { model: string };
  const answer = model === 'qwen3:8b' ? 'At nine, I think.' : 'On Saturday we open at ten.';
  return { answer, delayMs: (thinkMs[model] ?? 0) + ((before * 37) % 130) };
};

export async function startScreenshotStage(): Promise<ScreenshotStage> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await scratch());
  const ollama = opened.use(
    await startFakeOllama(think, { models: ['llama3.2:latest', 'qwen3:8b'] }),
  );
  const openai = opened.use(await startFakeOpenai(think, { models: ['gpt-6-luna'] }));
  const receiver = opened.use(await startReceiver());
  const telegram = opened.use(await startFakeTelegram({ secondMs: 20, limited: false }));
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: ollama.url, receiverUrl: receiver.url };
  const chats = ['Ada', 'Ben', 'Mia'].map((name) => telegram.privateChat(telegram.person(name)));
  const telegramChannel = {
    type: 'telegram',
    mode: 'polling',
    token_env: 'TELEGRAM_TOKEN',
    base_url: telegram.url,
    access: { allow: chats.map(({ id }) => String(id)) },
  };
  await keepLastHour(join(folder.path, 'svc.db'));
  const file = await writeConfig(folder.path, documentOf(at, openai.url, telegramChannel));
  const env = {
    ADMIN_TOKEN: 'the-token-of-the-operator',
    OPENAI_API_KEY: 'a-key-of-the-pictures',
    TELEGRAM_TOKEN: telegram.token,
  };
  const program = opened.use(await serve(file, port, env));
  const stack = opened.move();
  return {
    origin: `http://127.0.0.1:${adminPort}`,
    receiver,
    telegram,
    chats,
    async ask(text, conversation) {
      const said = { sender_id: 'shop', conversation_id: conversation, text };
      const { status, body } = await post(program.url, said);
      if (status !== 200) throw new Error(`the webhook answered ${status}`);
      return String(body['message_id']);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function documentOf(
  at: Parameters<typeof webhookConfig>[0],
  openaiUrl: string,
  telegramChannel: object,
) {
  const local = { provider: 'local_runtime', locality: 'local', base_url: at.modelUrl };
  const llama = { ...local, model_id: 'llama3.2' };
  const gpt = {
    provider: 'hosted_runtime',
    model_id: 'gpt-6-luna',
    locality: 'cloud',
    base_url: openaiUrl,
    api_key_env: 'OPENAI_API_KEY',
    price: { input: 0.25, output: 2 },
  };
  const config = webhookConfig(at);
  return {
    ...config,
    channels: [telegramChannel, ...config.channels],
    brains: [
      {
        name: 'family',
        sensitivity: 'private',
        policy: { kind: 'priority' },
        models: [llama, gpt],
      },
      {
        name: 'support',
        sensitivity: 'public',
        policy: { kind: 'consensus' },
        models: [llama, { ...local, model_id: 'qwen3:8b' }, gpt],
      },
    ],
    routes: [
      { channel: 'telegram', brain: 'family' },
      { channel: 'webhook', brain: 'support' },
    ],
    storage: { path: 'svc.db' },
    session: {},
    admin: { token_env: 'ADMIN_TOKEN' },
  };
}

/** Stores the figures of an hour with a few messages a minute, as an earlier run stores them. */
async function keepLastHour(path: string): Promise<void> {
  const ids = createIdSource(Date.now, (bytes) => void crypto.getRandomValues(bytes));
  const ledger = await openSqliteLedger({ path, ...systemClock, ids, retentionDays: 30 });
  if ('kind' in ledger) throw new Error('the database of the pictures cannot be opened');
  const now = Math.floor(Date.now() / minuteMs) * minuteMs;
  const rows = Array.from({ length: 59 }, (_, place) => {
    return figureRow(1, minuteOf(now - (59 - place) * minuteMs, place));
  });
  await ledger.figures.keep(rows);
  await ledger[Symbol.asyncDispose]();
}

/** @param place the minute's number in the hour, which alone decides its figures */
function minuteOf(at: number, place: number): Bucket {
  const vary = (seed: number): number => {
    const scattered = Math.sin(place * 12.9898 + seed * 78.233) * 43_758.5453;
    return scattered - Math.floor(scattered);
  };
  const bucket = new Bucket(at);
  bucket.accepted = bucket.answered = Math.round(7 + 4 * Math.sin(place / 7) + 4 * vary(1));
  const counts = bucket.model('local_runtime/llama3.2', 'local_runtime');
  counts.answered = bucket.accepted;
  counts.inputTokens = Math.round((220 + 200 * vary(2)) * bucket.accepted);
  counts.outputTokens = Math.round((30 + 40 * vary(3)) * bucket.accepted);
  const slowest = 500 + 900 * vary(4) ** 2;
  for (let message = 0; message < bucket.accepted; message++) {
    const ms = 400 + slowest * vary(5 + message);
    counts.times.observe(ms);
    bucket.times.observe(ms + 60);
  }
  const queue = Math.max(0, Math.round(4 * vary(6) - 2.4));
  bucket.end = { at: at + minuteMs, queue, deadLetters: 0 };
  return bucket;
}
