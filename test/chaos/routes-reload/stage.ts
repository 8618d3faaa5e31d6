/** A service with a webhook and a bot, whose routes the proof changes. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { lastOf } from '../../agents/stage.ts';
import { adminToken, askAdmin } from '../../config/program.ts';
import type { ModelCall } from '../../fake/model-server.ts';
import { startFakeOllama } from '../../fake/ollama.ts';
import { startReceiver } from '../../fake/receiver.ts';
import { startFakeTelegram, type FakeTelegram } from '../../fake/telegram.ts';
import type { Chat } from '../../fake/telegram/wire.ts';
import { freePort, scratch, secret, startProgram, writeConfig } from '../../support/program.ts';
import { Crowd } from '../crowd.ts';
import { privateChats, Talk } from '../talk.ts';
import {
  brains,
  Revisions,
  type Answer,
  type BrainName,
  type Message,
  type Rules,
} from './revisions.ts';

type Random = () => number;

/** So long that messages wait at each change. */
const [pauseMs, modelMs] = [150, 100];
/** A chat gets one answer a second, after a few at once. */
const talkPauseMs = 250;
const peopleOnTelegram = 12;
/** A poll brings so many; nobody writes more. */
const waitingMax = 40;
const command = '/ask ';
/** No sender has this id or one of the next. */
const nobody = 900;
const commandShare = 0.25;
export const speakers = 20;
/** The routes name the conversations of each speaker up to this number. */
const conversationsMax = 40;

/** Everything outside of svc, and the changes of its routes. */
export async function openStage(random: Random) {
  await using opening = new AsyncDisposableStack();
  const { path: folder } = opening.use(await scratch());
  const receiver = opening.use(await startReceiver());
  const telegram = opening.use(await startFakeTelegram({ secondMs: 20, random }));
  const model = opening.use(
    await startFakeOllama(
      (call: ModelCall) => {
        const { model: name } = call.body as { model: string };
        return { answer: `${name} re: ${lastOf(call).content}`, delayMs: random() * modelMs };
      },
      { models: brains },
    ),
  );
  const [port, adminPort] = [await freePort(), await freePort()];
  const bot = new BotTalk(telegram, random);
  const where = {
    port,
    adminPort,
    modelUrl: model.url,
    receiverUrl: receiver.url,
    telegramUrl: telegram.url,
    halfOfChats: bot.half,
  };
  const revisions = new Revisions();
  const first = rulesOf(random);
  revisions.add({ rules: first, askedAt: -Infinity, usedAt: -Infinity });
  const file = await writeConfig(folder, documentFor(where, first, 0));
  const crowd = new Crowd(`http://127.0.0.1:${port}/webhook`, random, pauseMs);
  opening.defer(() => crowd.leave());
  crowd.commandNext = () => (random() < commandShare ? command : '');
  let number = 0;
  const env = { WEBHOOK_SECRET: secret, ADMIN_TOKEN: adminToken, TELEGRAM_TOKEN: telegram.token };
  const own = opening.move();
  return {
    crowd,
    bot,
    receiver,
    revisions,
    database: join(folder, 'svc.db'),
    spawn: () => startProgram(['serve', '--config', file], env),
    /** Puts other routes into use. */
    async change(): Promise<void> {
      const rules = rulesOf(random);
      const { etag } = await askAdmin(adminPort, 'config');
      const body = JSON.stringify(documentFor(where, rules, ++number));
      bot.noteConfirmed();
      const askedAt = Date.now();
      const put = { method: 'PUT', ifMatch: etag!, body };
      const { status, body: told } = await askAdmin(adminPort, 'config', put);
      assert.equal(status, 200, JSON.stringify(told));
      revisions.add({ rules, askedAt, usedAt: Date.now() });
    },
    /** The first answer to each message of the webhook, and all of the bot. */
    answers(): readonly Answer[] {
      const replies = new Map(receiver.received.toReversed().map((one) => [replyTo(one), one]));
      const atWebhook = crowd.messages.flatMap(({ id, text, command: before, ...times }) => {
        const reply = replies.get(id);
        const [conversation = ''] = text.split(' ');
        const message = { ...times, isOfHalf: isOfHalf(conversation), hasCommand: before !== '' };
        if (reply === undefined) return [];
        return [{ message, at: reply.at, brain: brainIn(String(reply.body['text'])) }];
      });
      return [...atWebhook, ...bot.answers()];
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

const replyTo = ({ body }: { readonly body: Record<string, unknown> }) => body['in_reply_to'];

/** People in private chats with the bot. */
class BotTalk {
  readonly talk: Talk;
  /** The ids of every second chat. */
  readonly half: readonly number[];
  readonly #telegram: FakeTelegram;
  readonly #random: Random;
  /** By the text of its answer, without the brain. */
  readonly #messages = new Map<string, { -readonly [Key in keyof Message]: Message[Key] }>();

  constructor(telegram: FakeTelegram, random: Random) {
    this.#telegram = telegram;
    this.#random = random;
    const chats = privateChats(telegram, peopleOnTelegram);
    this.half = chats.filter((_, at) => at % 2 === 0).map(({ id }) => id);
    this.talk = new Talk(chats, random, {
      pauseMs: talkPauseMs,
      isEnough: () => telegram.pending >= waitingMax,
      say: (chat, text) => this.#say(chat, text),
      answerTo: (text) => `re: ${text}`,
      answers: () => this.sent,
    });
  }

  /** The answers, without the names of the brains. */
  get sent() {
    return this.#telegram.sent.map(({ chatId, text }) => ({ chatId, text: withoutBrain(text) }));
  }

  /** Notes that svc has accepted all messages, once it has confirmed all. */
  noteConfirmed(): void {
    if (this.#telegram.pending > 0) return;
    const now = Date.now();
    for (const one of this.#messages.values()) one.acceptedAt = Math.min(one.acceptedAt, now);
  }

  answers(): readonly Answer[] {
    return this.#telegram.sent.map(({ text, at }) => {
      return { message: this.#messages.get(withoutBrain(text))!, brain: brainIn(text), at };
    });
  }

  #say(chat: Chat, text: string): void {
    this.noteConfirmed();
    const hasCommand = this.#random() < commandShare;
    const message = { isOfHalf: this.half.includes(chat.id), hasCommand };
    const times = { beganAt: Date.now(), acceptedAt: Infinity };
    this.#messages.set(`re: ${text}`, { ...message, ...times });
    this.#telegram.say(chat, hasCommand ? `${command}${text}` : text);
  }
}

function rulesOf(random: Random): Rules {
  const drawn = (): BrainName => brains[Math.floor(random() * brains.length)]!;
  return { ofCommand: drawn(), ofHalf: drawn(), rest: drawn() };
}

const brainIn = (answer: string): string => answer.split(' ')[0]!;
const withoutBrain = (answer: string): string => answer.slice(answer.indexOf(' ') + 1);

/** Whether the conversation `c3.7` is of a speaker with an even number. */
function isOfHalf(conversation: string): boolean {
  return Number(/\d+/.exec(conversation)![0]) % 2 === 0;
}

type Where = Readonly<Record<'port' | 'adminPort', number>> &
  Readonly<Record<'modelUrl' | 'receiverUrl' | 'telegramUrl', string>> & {
    readonly halfOfChats: readonly number[];
  };

function documentFor(where: Where, rules: Rules, number: number): Record<string, unknown> {
  const { port, adminPort, modelUrl, receiverUrl, telegramUrl, halfOfChats } = where;
  const conversations = Array.from({ length: speakers * conversationsMax }, (_, at) => {
    return `c${at % speakers}.${Math.floor(at / speakers)}`;
  });
  const routesOn = (channel: string, half: object): readonly object[] => [
    { channel, brain: rules.ofCommand, when: { commands: [command.trim()] } },
    { channel, brain: rules.ofHalf, when: half },
    // A brain without a route would not be started, and its messages be routed anew.
    ...brains.map((brain, at) => ({ channel, brain, when: { senders: [String(nobody + at)] } })),
    { channel, brain: rules.rest },
  ];
  const model = { provider: 'local_runtime', locality: 'local', base_url: modelUrl };
  const bot = { type: 'telegram', mode: 'polling', token_env: 'TELEGRAM_TOKEN', streaming: false };
  const webhook = { bind: `127.0.0.1:${port}`, outbound_url: receiverUrl };
  return {
    _number: number,
    channels: [
      { type: 'webhook', token_env: 'WEBHOOK_SECRET', webhook },
      { ...bot, base_url: telegramUrl },
    ],
    brains: brains.map((name, at) => ({
      name,
      sensitivity: at % 2 === 0 ? 'public' : 'private',
      policy: { kind: 'priority' },
      models: [{ ...model, model_id: name }],
    })),
    routes: [
      ...routesOn('webhook', { senders: conversations.filter(isOfHalf) }),
      ...routesOn('telegram', { chats: halfOfChats }),
    ],
    storage: { path: 'svc.db' },
    observability: { addr: `127.0.0.1:${adminPort}` },
    admin: { token_env: 'ADMIN_TOKEN' },
  };
}
