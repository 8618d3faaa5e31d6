/**
 * Measures how long a person waits for the first text of a growing reply. Fifty conversations on
 * Telegram wait all the time for answers that a model streams token by token. The time begins when
 * the model's server sends the token with the 40th character. It ends when the first call that
 * shows a text arrives at the platform. Model, platform and this measurement share one process; the
 * platform refuses calls above its limits.
 */
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startFakeTelegram, type FakeTelegram } from '../test/fake/telegram.ts';
import type { Chat, TelegramCall } from '../test/fake/telegram/wire.ts';
import { freePort, type Lab } from './lab.ts';

const conversations = 50;
const tokensPerSecond = 30;
const tokens = 120;
const warmTokens = 20;
/** Four characters, as an English token has. */
const token = 'word ';
const characters = 40;
/** From the end of an answer to the next question. */
const pauseMs = 1_500;

/**
 * `together`: all conversations begin at once, for one answer; otherwise they begin one after the
 * other, and repeat for `ms`. `drafts`: the platform has drafts; otherwise svc edits messages.
 */
export type Scene = { readonly ms: number; readonly together: boolean; readonly drafts: boolean };

export type Sights = {
  readonly fromTokenMs: readonly number[];
  readonly fromCharactersMs: readonly number[];
  /** Calls that the platform refused as too many. */
  readonly refused: number;
};

type Answer = {
  readonly chat: Chat;
  readonly tokens: number;
  firstAt: number | null;
  /** The time at which the answer had enough characters to show. */
  enoughAt: number | null;
  seenAt: number | null;
};

export async function firstSights(lab: Lab, { ms, together, drafts }: Scene): Promise<Sights> {
  const draftsFor = drafts ? 'everyone' : 'nobody';
  await using telegram = await startFakeTelegram({ limited: true, draftsFor });
  const stage = new Stage(telegram);
  await using model = await serveModel(stage);
  const adminPort = await freePort();
  const file = join(lab.folder, `first-sight-${adminPort}.json`);
  const database = file.replace(/json$/, 'db');
  const config = configOf(telegram.url, model.url, adminPort, database);
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  const env = { BENCH_TELEGRAM_TOKEN: telegram.token };
  const { pid } = await lab.boot([lab.program, 'serve', '--config', file], adminPort, env);
  await telegram.waitForCall('getUpdates');
  // Loading and compiling for the first message must not count.
  await stage.warm();
  await stage.run(ms, together);
  await lab.stop(pid);
  return { ...stage.sights(), refused: telegram.limits!.refused };
}

/** With storage: without it, an unanswered message delays those behind it. */
function configOf(
  telegramUrl: string,
  modelUrl: string,
  adminPort: number,
  database: string,
): object {
  const channel = { type: 'telegram', mode: 'polling', token_env: 'BENCH_TELEGRAM_TOKEN' };
  const base = { provider: 'local_runtime', model_id: 'bench', locality: 'local' };
  const models = [{ ...base, base_url: modelUrl }];
  return {
    channels: [{ ...channel, base_url: telegramUrl }],
    brains: [{ name: 'bench', sensitivity: 'public', policy: { kind: 'priority' }, models }],
    routes: [{ channel: 'telegram', brain: 'bench' }],
    observability: { addr: `127.0.0.1:${adminPort}` },
    storage: { path: database },
  };
}

/** The people, and the texts that each of them sees. */
class Stage {
  readonly #telegram: FakeTelegram;
  readonly #chats: readonly Chat[];
  #answers: Answer[] = [];
  /** The answer that the model is writing for each chat. */
  readonly #current = new Map<number, Answer>();
  #stopsAt = 0;

  constructor(telegram: FakeTelegram) {
    this.#telegram = telegram;
    this.#chats = Array.from({ length: conversations }, (_, at) =>
      telegram.privateChat(telegram.person(`Person ${at}`)),
    );
    telegram.onCall = async (call) => this.#called(call);
  }

  async warm(): Promise<void> {
    for (const chat of this.#chats.slice(0, 10)) this.#say(chat, warmTokens);
    await this.#quiet();
    this.#answers = [];
  }

  async run(ms: number, together: boolean): Promise<void> {
    const answerMs = (tokens / tokensPerSecond) * 1_000 + pauseMs;
    this.#stopsAt = together ? 0 : performance.now() + ms;
    for (const [at, chat] of this.#chats.entries()) {
      setTimeout(() => this.#say(chat), together ? 0 : (at * answerMs) / conversations);
    }
    await new Promise((resolve) => setTimeout(resolve, together ? 0 : ms));
    await this.#quiet();
  }

  /** @returns the answer to the question with that number */
  asked(number: number): Answer | undefined {
    return this.#answers[number];
  }

  ended({ chat }: Answer): void {
    setTimeout(() => {
      this.#current.delete(chat.id);
      if (performance.now() < this.#stopsAt) this.#say(chat);
    }, pauseMs);
  }

  sights(): Pick<Sights, 'fromTokenMs' | 'fromCharactersMs'> {
    const since = (of: (answer: Answer) => number | null): readonly number[] =>
      this.#answers.map((one) => (one.seenAt ?? Number.NaN) - (of(one) ?? Number.NaN));
    return {
      fromTokenMs: since(({ firstAt }) => firstAt),
      fromCharactersMs: since(({ enoughAt }) => enoughAt),
    };
  }

  #say(chat: Chat, words = tokens): void {
    const unseen = { firstAt: null, enoughAt: null, seenAt: null };
    const answer: Answer = { chat, tokens: words, ...unseen };
    this.#current.set(chat.id, answer);
    this.#answers.push(answer);
    this.#telegram.say(chat, `number ${this.#answers.length - 1}`);
  }

  #called({ method, params }: TelegramCall): void {
    if (!/^(?:sendMessage|sendMessageDraft|editMessageText)$/.test(method)) return;
    const answer = this.#current.get(Number(params['chat_id']));
    if (answer !== undefined) answer.seenAt ??= performance.now();
  }

  async #quiet(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    while (this.#current.size > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Speaks Ollama's wire: the probes of svc, and streamed answers. */
async function serveModel(stage: Stage) {
  const server = createServer((request, response) => {
    if (request.url === '/api/chat') void write(stage, request, response);
    else
      response.end(JSON.stringify({ models: [{ name: 'bench:latest', model: 'bench:latest' }] }));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function write(
  stage: Stage,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let body = '';
  for await (const part of request) body += String(part);
  const answer = stage.asked(Number(/.*number (\d+)/s.exec(body)?.[1]));
  if (answer === undefined) return void response.writeHead(400).end('{}');
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  const begun = performance.now();
  let [written, said] = [0, 0];
  const next = (): void => {
    const isLast = written === answer.tokens;
    const content = isLast ? '' : token;
    said += content.length;
    const now = performance.now();
    if (written === 0) answer.firstAt = now;
    // Nobody sees the space behind the last word.
    if (said > characters) answer.enoughAt ??= now;
    const message = { role: 'assistant', content };
    const end = { done: isLast, ...(isLast && { done_reason: 'stop', eval_count: written }) };
    response.write(`${JSON.stringify({ model: 'bench', message, ...end })}\n`);
    if (!isLast) {
      written++;
      const dueMs = begun + (written * 1_000) / tokensPerSecond - performance.now();
      return void setTimeout(next, Math.max(0, dueMs));
    }
    response.end();
    stage.ended(answer);
  };
  next();
}
