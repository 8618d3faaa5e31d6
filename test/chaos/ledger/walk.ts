/** Takes steps on a ledger and on the reference, and compares the two after each. */
import assert from 'node:assert/strict';
import { failure } from '../../../src/domain/failure.ts';
import type { ChannelKey, ConversationId } from '../../../src/domain/ids.ts';
import type { Inbound } from '../../../src/domain/message.ts';
import type { InClaim, OutClaim } from '../../../src/ledger/ledger.ts';
import { Comparison } from './comparison.ts';
import type { Reference } from './reference.ts';
import type { MessageRow, ReplyRow } from './rows.ts';
import { Hands, type HandKind } from './hands.ts';
import { People, senderOf } from './people.ts';
import type { Step } from './steps.ts';
import { effectsOf, short, tellEffects } from './turns.ts';
import type { World } from './worlds.ts';

/** The receiver asks for an hour, the longest delay that a start leaves to a reply. */
const askedMs = 3_600_000;
const why = failure('server_error', { retryAfterMs: askedMs });
const channels = ['webhook', 'messenger_a:77'] as ChannelKey[];
const pausesMs = [0, 40, 1_000, 60_000, 3_600_000, 3 * 86_400_000];
const lengths = [3, 3, 3, 3, 900, 7_000];
const endedMax = 12;

type OpenIn = { readonly claim: InClaim; readonly row: MessageRow };
type OpenOut = { readonly claim: OutClaim; readonly row: ReplyRow };
type Ended = { readonly claim: InClaim | OutClaim };

export class Walk {
  readonly #world: World;
  readonly #model: Reference;
  readonly #compare: Comparison;
  readonly #people: People;
  readonly #hands: Hands;
  readonly #conversations: number;
  #openIn: OpenIn[] = [];
  #openOut: OpenOut[] = [];
  #ended: Ended[] = [];
  #texts = 0;
  /** Messages under way in a step that does several things at once. */
  #arriving = 0;
  /** A line for each deed, for the report of a failure. */
  readonly told: string[] = [];
  refused = 0;

  /** @param conversations the number of conversations on each of two channels */
  constructor(world: World, model: Reference, conversations: number) {
    this.#world = world;
    this.#model = model;
    this.#conversations = conversations;
    this.#compare = new Comparison(world, model);
    this.#people = new People(world, model);
    this.#hands = new Hands(world, model);
  }

  /** @returns whether there was anything to do */
  async take(step: Step): Promise<boolean> {
    const { now } = this.#world;
    const done = await this.#do(step);
    await this.#world.settle();
    this.#model.now = this.#world.now;
    this.#model.endStep();
    const restarted = step.kind === 'crash' || step.kind === 'reopen';
    this.#compare.afterStep({ restarted, passed: this.#world.now !== now });
    return done;
  }

  /** Works off the rest; no row may remain. */
  async workOff(): Promise<void> {
    const dice = [0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99];
    while (await this.take({ kind: 'giveBack', dice: [0] }));
    for (let rounds = 0; ; rounds++) {
      assert.ok(rounds < 5_000, 'what is left comes to an end');
      const both = [0.99, rounds % 2 === 0 ? 0 : 0.99];
      while (this.#openIn.length > 0) await this.take({ kind: 'complete', dice: [0, 0, 0, 0] });
      while (this.#openOut.length > 0) await this.take({ kind: 'delivered', dice });
      if (this.#model.inbox.length + this.#model.outbox.length === 0) return;
      await this.take({ kind: 'claimIn', dice: both });
      await this.take({ kind: 'claimOut', dice: both });
      if (rounds % 2 === 1 && this.#openIn.length + this.#openOut.length === 0)
        await this.take({ kind: 'pass', dice });
    }
  }

  async #do({ kind, dice }: Step): Promise<boolean> {
    switch (kind) {
      case 'accept':
        return this.#accept(dice);
      case 'claimIn':
        return this.#claimIn(dice);
      case 'claimOut':
        return this.#claimOut(dice);
      case 'complete':
      case 'buryIn':
      case 'releaseIn':
        return this.#endIn(kind, dice);
      case 'delivered':
      case 'defer':
      case 'buryOut':
      case 'releaseOut':
        return this.#endOut(kind, dice);
      case 'stale':
        return this.#stale(dice);
      case 'together':
        return this.#together(dice);
      case 'pass':
        return this.#pass(dice);
      case 'cursor':
        return this.#accept([...dice.slice(0, 2), 0, 0.99], []);
      case 'closeIntake':
        this.#tell('closeIntake');
        this.#world.ledger.closeIntake();
        this.#model.closed = true;
        return true;
      case 'reopen':
        this.#tell('reopen');
        this.#lose();
        await this.#world.reopen();
        this.#model.restart();
        return true;
      case 'crash':
        return this.#crash(dice);
      case 'tryNow':
      case 'replay':
      case 'discard':
      case 'forget':
      case 'recall':
      case 'hold':
      case 'byHand':
      case 'giveBack':
        return this.#ask(kind, dice);
      default:
        return kind satisfies never;
    }
  }

  async #accept(dice: readonly number[], given?: readonly Inbound[]): Promise<boolean> {
    const [size = 0, which = 0, key = 0, move = 0] = dice;
    const channel = pick(channels, which);
    const count = size > 0.95 ? 30 : 1 + Math.floor(size * 3);
    const batch =
      given ?? Array.from({ length: count }, (_, i) => this.#inbound(channel, dice, i, key));
    const expected = this.#model.expectAccept(batch, this.#arriving);
    // Refusals are rare, and only this shows what a cursor does in one.
    const moves = expected.kind === 'refused' || move > 0.8;
    const cursors = moves ? [{ channel, name: 'offset', value: String(++this.#texts) }] : [];
    const texts = batch.map(({ conversation, text, dedupeKey }) =>
      `${conversation}:${short(text)} ${dedupeKey ?? ''}`.trim(),
    );
    this.#tell(
      `accept ${channel} [${texts.join(', ')}]${cursors.length > 0 ? ' with cursor' : ''}`,
    );
    this.#arriving += batch.length;
    const answering = this.#world.ledger.accept(batch, ...cursors);
    const acceptance = await answering;
    this.#arriving -= batch.length;
    assert.equal(acceptance.kind, expected.kind, 'accepted or refused');
    if (acceptance.kind === 'refused') {
      assert.equal(acceptance.reason, 'reason' in expected ? expected.reason : '');
      assert.ok(acceptance.retryAfterMs > 0);
      this.refused++;
    } else {
      this.#compare.receipts(expected, acceptance.receipts);
      this.#model.accept(
        batch,
        acceptance.receipts.map(({ id }) => id),
      );
      for (const { name, value } of cursors) this.#model.cursors.set(`${channel} ${name}`, value);
    }
    if (cursors.length === 0) return true;
    const found = await this.#world.ledger.cursor(channel, 'offset');
    assert.equal(found, this.#model.cursors.get(`${channel} offset`) ?? null, 'the cursor');
    return true;
  }

  #inbound(channel: ChannelKey, dice: readonly number[], i: number, key: number): Inbound {
    const die = (dice[4 + (i % 4)]! * (i + 1) * 7.31) % 1;
    const who = Math.floor(die * this.#conversations);
    const dedupeKey = key > 0.5 ? `k${Math.floor(((key * 31 + (i >> 1)) * 13) % 40)}` : null;
    const [fingerprint, formerKey] = [die > 0.7 ? 'one thing' : 'another', `former ${dedupeKey}`];
    const text = `m${++this.#texts} `.padEnd(pick(lengths, (die * 97) % 1), 'x');
    return {
      channel,
      conversation: `c${who}` as ConversationId,
      sender: { id: senderOf(`c${who}`), name: null },
      text,
      media: null,
      address: { channel, target: `c${who}` },
      sensitivity: (die * 13) % 1 > 0.5 ? 'private' : 'public',
      dedupeKey,
      // Where people choose keys themselves, the ledger compares the texts, too.
      ...(channel === channels[0] && dedupeKey !== null
        ? { keyCheck: { fingerprint, formerKey } }
        : {}),
    };
  }

  async #claimIn([n = 0, which = 0]: readonly number[]): Promise<boolean> {
    const channel = pick(channels, which);
    const most = 1 + Math.floor(n * 5);
    const ready = this.#model.claimable('in', channel) as readonly MessageRow[];
    const claims = await this.#world.ledger.claim('in', channel, most);
    this.#tell(
      `claim in ${channel} ${most}: ${claims.map(({ message }) => short(message.text)).join()}`,
    );
    const rows = this.#compare.claimed(claims, ready, most, ({ message }) => message.id);
    for (const [i, claim] of claims.entries()) {
      this.#compare.inClaim(claim, rows[i]!);
      rows[i]!.claimed = true;
      this.#openIn.push({ claim, row: rows[i]! });
    }
    return claims.length > 0;
  }

  async #claimOut([n = 0, which = 0]: readonly number[]): Promise<boolean> {
    const channel = pick(channels, which);
    const most = 1 + Math.floor(n * 6);
    const ready = this.#model.claimable('out', channel) as readonly ReplyRow[];
    const claims = await this.#world.ledger.claim('out', channel, most);
    this.#tell(`claim out ${channel} ${most}: ${claims.map(({ reply }) => reply.text).join()}`);
    const rows = this.#compare.claimed(claims, ready, most, ({ reply }) => reply.id);
    for (const [i, claim] of claims.entries()) {
      this.#compare.outClaim(claim, rows[i]!);
      rows[i]!.claimed = true;
      this.#openOut.push({ claim, row: rows[i]! });
    }
    return claims.length > 0;
  }

  async #endIn(
    kind: 'complete' | 'buryIn' | 'releaseIn',
    dice: readonly number[],
  ): Promise<boolean> {
    const open = take(this.#openIn, dice[0]!);
    if (open === undefined) return false;
    const { claim, row } = open;
    const { ledger } = this.#world;
    const name = short(row.message.text);
    this.#end(claim);
    if (kind === 'releaseIn') {
      this.#tell(`release in ${name}`);
      this.#model.release(row);
      await ledger.release(claim);
      return true;
    }
    const silent = kind === 'buryIn' && dice[1]! > 0.5;
    const whole = effectsOf(this.#world, claim, dice);
    // A dead message was no command, so it recalled nothing.
    const spared = kind === 'buryIn' ? { ...whole, imported: null } : whole;
    const effects = silent ? null : spared;
    this.#tell(`${kind} ${name} ${effects === null ? '' : tellEffects(effects)}`);
    this.#model.finish(row, effects, kind === 'buryIn');
    this.#people.finished(row, effects);
    const ended =
      kind === 'buryIn'
        ? ledger.deadLetter(claim, why, effects ?? undefined)
        : ledger.complete(claim, effects!);
    assert.equal(await ended, true, `${kind} of an open claim`);
    return true;
  }

  async #endOut(
    kind: 'delivered' | 'defer' | 'buryOut' | 'releaseOut',
    dice: readonly number[],
  ): Promise<boolean> {
    const open = take(this.#openOut, dice[0]!);
    if (open === undefined) return false;
    const { claim, row } = open;
    const { ledger } = this.#world;
    this.#tell(`${kind} ${claim.reply.text}`);
    this.#end(claim);
    if (kind === 'releaseOut') {
      this.#model.release(row);
      await ledger.release(claim);
    } else if (kind === 'delivered') {
      this.#model.delivered(row);
      assert.equal(await ledger.delivered(claim), true, 'delivered');
    } else if (kind === 'buryOut') {
      this.#model.buryReply(row);
      assert.equal(await ledger.deadLetter(claim, why), true, 'buried');
    } else {
      const [, pause = 0, park = 0, twice = 0] = dice;
      const pauseMs = Math.min(askedMs, pick(pausesMs, pause));
      const at = this.#world.now + pauseMs - (pause < 0.05 ? 7 : 0);
      const how = {
        park: row.parked || park > 0.6,
        possibleDuplicate: row.possibleDuplicate || twice > 0.6,
      };
      this.#model.defer(row, at, how.park, how.possibleDuplicate);
      assert.equal(await ledger.defer(claim, at, why, how), true, 'deferred');
    }
    return true;
  }

  /** A claim that has ended, or was lost, is refused, and changes nothing. */
  async #stale(dice: readonly number[]): Promise<boolean> {
    const ended = pick(this.#ended, dice[0]!);
    if (ended === undefined) return false;
    const { ledger } = this.#world;
    const { claim } = ended;
    const [, how = 0] = dice;
    this.#tell(`stale ${claim.box} ${Math.floor(how * 4)}`);
    const defer = { park: false, possibleDuplicate: true };
    if (how < 0.25) await ledger.release(claim);
    else if (how < 0.5) assert.equal(await ledger.deadLetter(claim, why), false, 'stale burial');
    else if (claim.box === 'in') {
      const effects = effectsOf(this.#world, claim, [0, 0.6, 0, 0, 0.95]);
      assert.equal(await ledger.complete(claim, effects), false, 'stale completion');
    } else if (how < 0.75) {
      assert.equal(await ledger.delivered(claim), false, 'stale delivery');
    } else {
      assert.equal(await ledger.defer(claim, 0, why, defer), false, 'stale deferral');
    }
    return true;
  }

  /** Several requests at once, in this order, before the first answer. */
  async #together(dice: readonly number[]): Promise<boolean> {
    const endings = this.#openIn.length + this.#openOut.length;
    this.#tell('together');
    const all = dice.flatMap((die, i) => {
      const moved = [die, ...dice.slice(i), ...dice].map((one) => (one * (i + 3) * 1.7) % 1);
      if (i % 2 === 0) return [this.#endIn(die > 0.9 ? 'buryIn' : 'complete', moved)];
      const kind = die > 0.8 ? 'buryOut' : die > 0.6 ? 'defer' : 'delivered';
      return [this.#endOut(kind, moved)];
    });
    // An ending makes room only once it is on the disk, so new messages must have enough before.
    if (endings === 0 && this.#model.room > 8) {
      const small = dice.map((die) => die * 0.9);
      all.push(this.#accept(small), this.#accept(small.toReversed()));
    }
    return (await Promise.all(all)).includes(true);
  }

  #pass([die = 0]: readonly number[]): Promise<boolean> {
    const ms = pick(pausesMs, die);
    this.#tell(`pass ${ms} ms`);
    this.#world.pass(ms);
    this.#model.now = this.#world.now;
    return Promise.resolve(ms > 0);
  }

  /** Crashes with an unwritten completion under way, or with nothing. */
  async #crash(dice: readonly number[]): Promise<boolean> {
    if (!this.#model.mayDie) return false;
    const open = this.#openIn[0];
    const under = dice[0]! > 0.5 && open !== undefined;
    this.#tell(under ? 'crash under a completion' : 'crash');
    if (under)
      void this.#world.ledger.complete(open.claim, effectsOf(this.#world, open.claim, dice));
    this.#lose();
    await this.#world.crash();
    this.#model.crash();
    return true;
  }

  /** A request of a person, or the recall of a turn. */
  async #ask(
    kind: 'tryNow' | 'replay' | 'discard' | 'forget' | 'recall' | HandKind,
    dice: readonly number[],
  ): Promise<boolean> {
    const { claim, row } = this.#openIn[0] ?? {};
    if (kind === 'recall') {
      if (claim === undefined || row === undefined) return false;
      this.#tell(`recall for ${short(row.message.text)}`);
      return this.#people.recall(claim, row, dice);
    }
    const isHand = kind === 'hold' || kind === 'byHand' || kind === 'giveBack';
    const report = await (isHand ? this.#hands.take(kind, dice) : this.#people.ask(kind, dice));
    if (report === null) return false;
    this.#tell(report);
    const rows = new Set([...this.#model.inbox, ...this.#model.outbox].map(({ id }) => id));
    const isOpen = ({ row: { id, claimed } }: OpenIn): boolean => rows.has(id) && claimed;
    this.#openIn = this.#openIn.filter((open) => isOpen(open) || this.#end(open.claim));
    this.#openOut = this.#openOut.filter((open) => rows.has(open.row.id) || this.#end(open.claim));
    return true;
  }

  /** Ends every claim of the dead process. */
  #lose(): void {
    for (const { claim } of [...this.#openIn, ...this.#openOut]) this.#end(claim);
    this.#openIn = [];
    this.#openOut = [];
  }

  /** @returns false: it is not open any more */
  #end(claim: InClaim | OutClaim): false {
    this.#ended.push({ claim });
    if (this.#ended.length > endedMax) this.#ended.shift();
    return false;
  }

  #tell(line: string): void {
    this.told.push(`${this.#model.step}: ${line}`);
  }
}

function pick<T>(all: readonly T[], die: number): T {
  return all[Math.floor(die * all.length)]!;
}

function take<T>(all: T[], die: number): T | undefined {
  return all.splice(Math.floor(die * all.length), 1)[0];
}
