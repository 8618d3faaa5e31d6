/** The service on either backend, with a crowd at its webhook and people on Telegram. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { lastOf } from '../../agents/stage.ts';
import { adminToken, askAdmin, type Told } from '../../config/program.ts';
import type { ModelCall } from '../../fake/model-server.ts';
import { startFakeOllama } from '../../fake/ollama.ts';
import { startReceiver } from '../../fake/receiver.ts';
import { startFakeTelegram } from '../../fake/telegram.ts';
import {
  freePort,
  scratch,
  secret,
  startProgram,
  writeConfig,
  type Program,
} from '../../support/program.ts';
import { privateChats, Talk } from '../talk.ts';
import { draftOf, type Draft, type Places, type Random } from './drafts.ts';

export type Backend = 'memory' | 'sqlite';

/** Everything outside of svc. */
export async function openStage(backend: Backend, random: Random) {
  const own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  mkdirSync(join(folder, 'store'), { mode: 0o700 });
  const receiver = own.use(await startReceiver());
  const telegram = own.use(await startFakeTelegram({ secondMs: 20, random }));
  const answer = (call: ModelCall) => ({
    answer: `re: ${lastOf(call).content}`,
    delayMs: random() * 10,
  });
  const models = [own.use(await startFakeOllama(answer)), own.use(await startFakeOllama(answer))];
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  own.defer(() => void taken.close());
  const places: Places = {
    ports: [await freePort(), await freePort()],
    adminPort: await freePort(),
    modelUrls: models.map(({ url }) => url),
    receiverUrl: receiver.url,
    telegramUrl: telegram.url,
    takenPort: (taken.address() as AddressInfo).port,
    storage: backend === 'sqlite' ? { path: 'store/svc.db' } : undefined,
  };
  const first = { port: places.ports[0]!, path: '/webhook', telegram: true };
  const draft = draftOf(places, first, random, 0);
  const file = await writeConfig(folder, draft.document);
  const env = {
    WEBHOOK_SECRET: secret,
    ADMIN_TOKEN: adminToken,
    TELEGRAM_TOKEN: telegram.token,
  };
  return {
    folder,
    file,
    database: join(folder, 'store', 'svc.db'),
    receiver,
    telegram,
    places,
    draft,
    spawn: (): Program => startProgram(['serve', '--config', file], env),
    ask: (path: string, asking?: Parameters<typeof askAdmin>[2]): Promise<Told> =>
      askAdmin(places.adminPort, path, asking),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

export type Stage = Awaited<ReturnType<typeof openStage>>;

export function urlOf({ port, path }: Draft): string {
  return `http://127.0.0.1:${port}${path}`;
}

export function talkOn({ telegram }: Stage, random: Random, people: number): Talk {
  return new Talk(privateChats(telegram, people), random, {
    pauseMs: 40,
    // Without storage svc promises to drop the oldest of more than 80 waiting messages.
    isEnough: () => telegram.pending >= 40,
    say: (chat, text) => telegram.say(chat, text),
    answerTo: (text) => `re: ${text}`,
    answers: () => telegram.sent,
  });
}

type SentText = { readonly chatId: number; readonly text: string };

/** Each message has one answer, in its own chat and in order. */
export function auditTalk(
  { said }: Pick<Talk, 'said'>,
  { telegram }: { readonly telegram: { readonly sent: readonly SentText[] } },
) {
  const asked = new Map(said.map(({ chat, text }) => [`re: ${text}`, chat]));
  const seen = new Set<string>();
  const newest = new Map<number, number>();
  let [twice, disordered, odd] = [0, 0, 0];
  for (const { chatId, text } of telegram.sent) {
    const number = Number(text.slice(4));
    if (asked.get(text) !== chatId) odd++;
    else if (seen.has(text)) twice++;
    else if (number < (newest.get(chatId) ?? -1)) disordered++;
    seen.add(text);
    newest.set(chatId, Math.max(number, newest.get(chatId) ?? -1));
  }
  const unanswered = [...asked.keys()].filter((text) => !seen.has(text)).length;
  return { unanswered, twice, disordered, odd };
}

/** Asserts that no reply is one of svc's own answers. */
export function assertEchoes({ receiver }: Stage): void {
  const odd = receiver.received.filter(({ body }) => !String(body['text']).startsWith('re: '));
  assert.deepEqual(
    odd.map(({ body }) => body['text']),
    [],
  );
}
