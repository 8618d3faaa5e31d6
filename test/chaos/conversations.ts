/**
 * Many people talk at random, cut their sessions, recall them and send unknown commands, while the
 * program is killed between their steps. A simple book keeps one list of turns a session, and every
 * model call must show the same.
 */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { ModelCall } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { seeded, type Proof, type Proved } from './proof.ts';

const people = 50;
const recallMax = 5;
const turnsShown = 20;
const betweenTriesMs = 40;

type Turn = { readonly said: string; readonly reply: string | null };

/** The content of one conversation's sessions, and the expected answer of svc to each step. */
class Book {
  /** The turns of each session; a recalled block stands before them. */
  readonly #sessions: { recalled: string | null; turns: Turn[] }[] = [
    { recalled: null, turns: [] },
  ];
  readonly #sessioned: boolean;

  constructor(sessioned: boolean) {
    this.#sessioned = sessioned;
  }

  get #active() {
    return this.#sessions.at(-1)!;
  }

  begin(): void {
    this.#sessions.push({ recalled: null, turns: [] });
  }

  /** The expected prompt for this text, with adjacent lines of one person merged. */
  shown(text: string): readonly string[] {
    const { recalled, turns } = this.#active;
    const rows: Turn[] =
      recalled === null ? [...turns] : [{ said: recalled, reply: null }, ...turns];
    const lines: { own: boolean; text: string }[] = [];
    const add = (own: boolean, line: string): void => {
      const last = lines.at(-1);
      if (last?.own === own) last.text += `\n\n${line}`;
      else lines.push({ own, text: line });
    };
    for (const { said, reply } of this.#sessioned ? rows.slice(-turnsShown) : []) {
      add(true, said);
      if (reply !== null) add(false, reply);
    }
    add(true, text);
    return lines.map((line) => line.text);
  }

  answered(said: string, reply: string): void {
    this.#active.turns.push({ said, reply });
  }

  /** @returns the number of turns that come into view again; null: svc refuses */
  recall(n: number): number | null {
    const { recalled, turns } = this.#active;
    if (recalled !== null || turns.length > 0) return null;
    const before = this.#sessions.findLast((session) => session.turns.length > 0);
    if (before === undefined) return null;
    const tail = before.turns.slice(-n);
    const quoted = tail.map(({ said, reply }) => `> Person: ${said}\n> Reply: ${reply}`);
    this.#active.recalled = [
      'Quoted from an earlier session of this conversation, as history and not as a request:',
      ...quoted,
    ].join('\n');
    return tail.length;
  }
}

type Stage = {
  readonly url: () => string;
  readonly receiver: Receiver;
  readonly random: () => number;
  readonly expected: Map<string, string>;
  readonly sessioned: boolean;
  /** Aborts after the first violation; the other people then stop. */
  readonly over: AbortController;
};

/** One person: a step, its reply, the next step. */
async function talk(name: string, steps: number, stage: Stage): Promise<void> {
  const { random, sessioned } = stage;
  const book = new Book(sessioned);
  for (let number = 0; number < steps && !stage.over.signal.aborted; number++) {
    const marker = `${name}-${number}-${Math.floor(random() * 1e9).toString(36)}`;
    const dice = sessioned ? random() : 1;
    const say = (text: string): Promise<string> => exchange(stage, name, number, text);
    const think = async (text: string, sent = text): Promise<void> => {
      stage.expected.set(marker, JSON.stringify(book.shown(text)));
      assert.equal(await say(sent), `re: ${marker}`);
      book.answered(text, `re: ${marker}`);
    };
    if (dice < 0.1) {
      book.begin();
      assert.match(await say(random() < 0.5 ? '/new' : '/reset'), /^A new session begins/);
    } else if (dice < 0.2) {
      book.begin();
      await think(marker, `/new ${marker}`);
    } else if (dice < 0.3) {
      const n = 1 + Math.floor(random() * recallMax);
      const said = await say(n === recallMax ? '/recall' : `/recall ${n}`);
      const recalled = book.recall(n);
      if (recalled === null) assert.match(said, /^(This session has begun|There is nothing)/);
      else assert.match(said, recalled === 1 ? /^The last exchange/ : RegExp(` ${recalled} `));
    } else if (dice < 0.34) {
      assert.match(await say('/recall 99'), /^Write \/recall/);
    } else {
      await think(dice < 0.4 ? `/tools /newer ${marker}` : marker);
    }
  }
}

/** Sends the text with the same key until it has a 200; then waits for the reply. */
async function exchange(
  { url, receiver, over }: Stage,
  name: string,
  number: number,
  text: string,
): Promise<string> {
  const message = { sender_id: name, text };
  const key = { 'webhook-id': `${name} ${number}` };
  while (!over.signal.aborted) {
    const answer = await post(url(), message, key).catch(() => null);
    if (answer?.status === 200) return replyTo(receiver, String(answer.body['message_id']), name);
    await pause(betweenTriesMs);
  }
  throw new Error('it was given up');
}

async function replyTo(receiver: Receiver, id: string, name: string): Promise<string> {
  for (let seen = 0; ;) {
    for (; seen < receiver.received.length; seen++) {
      const { body } = receiver.received[seen]!;
      if (body['in_reply_to'] !== id) continue;
      assert.equal(body['conversation_id'], name);
      return String(body['text']);
    }
    await receiver.waitFor(seen + 1);
  }
}

const linesOf = ({ body }: ModelCall): readonly string[] =>
  (body as { messages: { content: string }[] }).messages.map(({ content }) => content);

/** The marker at the end of the person's own line. */
const markerOf = (call: ModelCall): string => linesOf(call).at(-1)!.split(/\s+/).at(-1)!;

async function run(steps: number, seed: number, sessioned: boolean): Promise<number> {
  await using folder = await scratch();
  await using receiver = await startReceiver();
  await using model = await startFakeOllama((call) => ({ answer: `re: ${markerOf(call)}` }));
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const durable = { storage: { path: 'svc.db' }, session: { recall_max: recallMax } };
  const config = { ...webhookConfig(where), ...(sessioned ? durable : {}) };
  const file = await writeConfig(folder.path, config);
  const random = seeded(seed);
  const expected = new Map<string, string>();
  const url = (): string => `http://127.0.0.1:${port}/webhook`;
  const over = new AbortController();
  const stage = { url, receiver, random, expected, sessioned, over };
  const each = Math.ceil(steps / people);
  let program = await serve(file, port);
  let kills = 0;
  try {
    const all = Promise.all(
      Array.from({ length: people }, (_, at) => talk(`p${at}`, each, stage)),
    ).then(() => 'over');
    const ripe = async (): Promise<boolean> => {
      const more = receiver.received.length + 10 + Math.floor(random() * 60);
      return (await Promise.race([sessioned ? receiver.waitFor(more) : all, all])) !== 'over';
    };
    for (; await ripe(); kills++) {
      program.child.kill('SIGKILL');
      await program.ended;
      program = await serve(file, port);
    }
  } finally {
    over.abort();
    await program[Symbol.asyncDispose]();
  }
  for (const call of model.calls) {
    assert.equal(JSON.stringify(linesOf(call)), expected.get(markerOf(call)), markerOf(call));
  }
  return kills;
}

export const conversations: Proof = {
  name: 'conversations',
  title: 'nobody sees what another said, or what was said before a cut',
  unit: 'steps',
  sizes: { change: 500, nightly: 20_000 },
  async run(count, seed, say): Promise<Proved> {
    const kills = await run(count, seed, true);
    say(`${count} steps with sessions and ${kills} kills`);
    await run(Math.ceil(count / 4), seed, false);
    return { kind: 'proved', figures: { people, kills, leaks: 0 } };
  },
};
