/**
 * People talk while configurations are put, one in five of them broken: brains, policies and routes
 * change, the webhook moves, Telegram comes and goes. Then SIGKILL ends svc during puts, and it
 * starts on the file's content.
 */
import assert from 'node:assert/strict';
import { readFileSync, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { assertKept, audit, leftIn } from './audit.ts';
import { Crowd, type Tried } from './crowd.ts';
import { drawDraft, spoil, type Draft, type Random } from './hot-reload/drafts.ts';
import {
  assertEchoes,
  auditTalk,
  openStage,
  talkOn,
  urlOf,
  type Backend,
  type Stage,
} from './hot-reload/stage.ts';
import { percentile, stopAsAsked } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { untilAll } from '../support/waiting.ts';

/** At the largest size they ask for more than the promised rate. */
const speakers = { change: 40, nightly: 120 } as const;
const peopleOnTelegram = 6;
const pauseMs = 300;
/** The least number of messages accepted under each configuration. */
const messagesEach = 60;
/** The longest delay of a kill after its step. */
const laterMs = 6;
/** The promise to users meanwhile; at the size of the tests it is only reported. */
const wanted = { aSecond: 200, share: 0.95, p99MsBelow: 1_000 } as const;

const sizes = { change: 7, nightly: 200 } as const;

export const hotReload: Proof = {
  name: 'hot-reload',
  title:
    'Configurations put under load, one in five broken, and kills in the middle of puts: no ' +
    'accepted message is lost, run twice or out of order, no address that should listen refuses, ' +
    'and the file is whole',
  unit: 'configurations',
  sizes,
  async run(count, seed, say) {
    const random = seeded(seed);
    const memory = await putUnderLoad('memory', count, random, say);
    const sqlite = await putUnderLoad('sqlite', count, random, say);
    const killed = await killWhilePut(Math.ceil(count / 4), random);
    const named = (backend: Backend, figures: object) =>
      Object.fromEntries(
        Object.entries(figures).map(([name, value]) => [`${name} (${backend})`, value]),
      );
    return {
      kind: 'proved',
      figures: { ...named('memory', memory), ...named('sqlite', sqlite), ...killed },
    };
  },
};

async function putUnderLoad(
  backend: Backend,
  count: number,
  random: Random,
  say: (line: string) => void,
): Promise<Readonly<Record<string, number>>> {
  await using stage = await openStage(backend, random);
  await using program = stage.spawn();
  await program.saw('"listening"');
  const crowd = new Crowd(urlOf(stage.draft), random, pauseMs);
  const putter = new Putter(stage, crowd, random);
  const talk = talkOn(stage, random, peopleOnTelegram);
  const talkingIsOver = Promise.withResolvers<void>();
  const accepted = { count: 0 };
  crowd.onAccepted = () => void accepted.count++;
  const startedAt = performance.now();
  crowd.begin(speakers[count >= sizes.nightly ? 'nightly' : 'change']);
  const talking = talk.until(talkingIsOver.promise);
  for (let number = 1; number <= count; number++) {
    const aim = accepted.count + messagesEach;
    await putter.put(number);
    while (accepted.count < aim) await crowd.next200();
    if (number % 50 === 0) say(`${backend}: ${number} put, ${accepted.count} messages`);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const rate = Math.round(accepted.count / seconds);
  await putter.end();
  talkingIsOver.resolve();
  await Promise.all([crowd.end(), talking.then(() => talk.untilAnswered())]);
  await answered(stage, crowd);
  await stopAsAsked(program);
  const figures = audit(crowd, stage.receiver.received);
  assertKept({ ...figures, ...(backend === 'sqlite' && leftIn(stage.database)) });
  assertEchoes(stage);
  const wrong = auditTalk(talk, stage);
  assert.deepEqual(wrong, { unanswered: 0, twice: 0, disordered: 0, odd: 0 });
  assert.deepEqual(putter.faults, []);
  const p99Ms = Math.round(percentile(putter.acceptMs, 0.99));
  if (count >= sizes.nightly) {
    // svc repeats a reply to a receiver that is too slow on a busy machine.
    assert.equal(figures.repeats, 0, 'nobody was killed, so nothing is said twice');
    assertPace(rate, p99Ms);
  }
  return {
    messages: figures.messages,
    repeats: figures.repeats,
    'a second': rate,
    'on Telegram': talk.said.length,
    broken: putter.broken,
    'ms p99 of a 200': p99Ms,
  };
}

function assertPace(aSecond: number, p99Ms: number): void {
  const least = wanted.aSecond * wanted.share;
  assert.ok(aSecond >= least, `${aSecond} messages a second; ${least} are wanted`);
  assert.ok(p99Ms < wanted.p99MsBelow, `99 of 100 had their 200 within ${p99Ms} ms`);
}

/** Puts one configuration after the other, and records wrong refusals meanwhile. */
class Putter {
  readonly acceptMs: number[] = [];
  /** Failed requests at an address that did not change. */
  readonly faults: string[] = [];
  broken = 0;
  readonly #stage: Stage;
  readonly #crowd: Crowd;
  readonly #random: Random;
  #used: Draft;
  /** The webhook is moving: both addresses may refuse a request. */
  #moving = false;
  /** The end of the last move. */
  #movedAt = 0;

  constructor(stage: Stage, crowd: Crowd, random: Random) {
    this.#stage = stage;
    this.#crowd = crowd;
    this.#random = random;
    this.#used = stage.draft;
    crowd.onTried = (tried) => this.#look(tried);
  }

  #look({ url, startedAt, ms, status, fault }: Tried): void {
    if (status === 200) this.acceptMs.push(ms);
    else if (url === this.#crowd.url && !this.#moving && startedAt > this.#movedAt) {
      this.faults.push(`${status ?? fault} at ${url}`);
    }
  }

  /** Puts a configuration; every fifth is one that svc must refuse. */
  async put(number: number): Promise<void> {
    const { ask } = this.#stage;
    const draft = drawDraft(this.#stage.places, this.#random, number);
    const before = (await ask('config')).etag!;
    if (number % 5 !== 2) return this.#take(draft, before);
    const spoiled = spoil(this.#stage.places, draft, this.#random, this.broken++);
    const put = { method: 'PUT', ifMatch: before, body: spoiled.text };
    const { status, body } = await ask('config', put);
    assert.equal(`${status} ${body.code}`, `${spoiled.status} ${spoiled.code}`, spoiled.kind);
    assert.equal((await ask('config')).etag, before, 'the one before stays in use');
    // The webhook still answers.
    await this.#crowd.next200();
  }

  async #take(draft: Draft, ifMatch: string): Promise<void> {
    const moves = urlOf(draft) !== urlOf(this.#used);
    const body = JSON.stringify(draft.document);
    this.#moving = moves;
    const answer = await this.#stage.ask('config', { method: 'PUT', ifMatch, body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    this.#used = draft;
    this.#crowd.url = urlOf(draft);
    this.#moving = false;
    if (moves) this.#movedAt = performance.now();
  }

  /** Puts the first configuration again, so that waiting people on Telegram are answered. */
  async end(): Promise<void> {
    await this.#take(this.#stage.draft, (await this.#stage.ask('config')).etag!);
  }
}

/** Resolves when every accepted message has a reply, or when no more replies come. */
function answered({ receiver }: Stage, crowd: Crowd): Promise<void> {
  const { messages } = crowd;
  return untilAll(messages.length, () => {
    const replied = new Set(receiver.received.map(({ body }) => body['in_reply_to']));
    return messages.filter(({ id }) => replied.has(id)).length;
  });
}

/** Kills svc while it saves. Its file is then the old or the new text, and svc starts on it. */
async function killWhilePut(count: number, random: Random) {
  await using stage = await openStage('memory', random);
  let kept = 0;
  for (let killed = 0; killed < count; killed++) {
    await using program = stage.spawn();
    await program.saw('"listening"');
    const old = readFileSync(stage.file, 'utf8');
    const { etag } = await stage.ask('config');
    const draft = drawDraft(stage.places, random, killed);
    const next = JSON.stringify(draft.document);
    const put = { method: 'PUT', ifMatch: etag!, body: next };
    const over = stage.ask('config', put).catch(() => null);
    await someStep(stage.folder, over, random);
    program.child.kill('SIGKILL');
    await Promise.all([program.ended, over]);
    const left = readFileSync(stage.file, 'utf8');
    assert.ok(left === old || left === next, `half a file: ${left.slice(0, 200)}`);
    if (left === old) kept++;
    const names = await readdir(stage.folder);
    const odd = names.filter(
      (name) => !/^(store|svc\.json(\.history)?|\.svc\.json\.new)$/.test(name),
    );
    assert.deepEqual(odd, []);
  }
  await using program = stage.spawn();
  await program.saw('"listening"');
  return { 'killed while put': count, 'of them with the old file': kept };
}

/** Resolves at a step of a save, as the folder shows it, or a moment after; at last when over. */
async function someStep(folder: string, over: Promise<unknown>, random: Random): Promise<void> {
  const step = 1 + Math.floor(random() * 8);
  const later = random() < 0.5 ? 0 : random() * laterMs;
  const stepped = Promise.withResolvers<void>();
  let seen = 0;
  const watcher = watch(folder, () => {
    if (++seen >= step) stepped.resolve();
  });
  await Promise.race([stepped.promise, over]);
  watcher.close();
  if (later > 0) await pause(later);
}
