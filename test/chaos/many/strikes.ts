/** Strikes on several svc and their servers, by a seed. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { someMoment } from '../moments.ts';
import type { Instance } from './instance.ts';
import type { Town } from './town.ts';
import { within } from '../../support/waiting.ts';

/** Strikes besides the kills, with the weight of each. */
const besides = {
  term: 3,
  'short pause': 2,
  'long pause': 3,
  cut: 3,
  'short silence': 2,
  'long silence': 2,
  'crash of the server': 2,
  promotion: 2,
} as const;
type Beside = keyof typeof besides;

/** A svc that is paused for longer is taken for dead. */
const deadMs = 9_000;
/** The longest time without a server. */
const awayMsMax = 500;
/** The longest pause between two kills, besides the wait for the moment. */
const betweenMs = 1_500;

export type StrikesParts = {
  readonly town: Town;
  readonly random: () => number;
  /** The longest pause, or time without servers. */
  readonly longMs: number;
  /** The same, where nobody may take the svc for dead. */
  readonly shortMs: number;
};

export class Strikes {
  /** Counts of each strike. */
  readonly done: Record<string, number> = {};
  /** Paused svc that were taken for dead, and ended when they went on. */
  fenced = 0;
  readonly #parts: StrikesParts;
  readonly #under = new Set<Promise<void>>();
  readonly #faults: unknown[] = [];
  readonly #busy = new Set<Instance>();
  #serversBusy = false;

  constructor(parts: StrikesParts) {
    this.#parts = parts;
  }

  /** Kills one or two svc, while another strike may hit the others. */
  async round(): Promise<void> {
    const { random } = this.#parts;
    const { fleet } = this.#parts.town;
    await pause(random() * betweenMs);
    await fleet.untilMayDie();
    this.check();
    const beside = random() < 0.8 ? this.#drawBeside() : null;
    const under = beside === null ? null : this.#begin(beside);
    // While all others are dead, nobody lives long enough to declare a death.
    if (beside?.startsWith('long') === true && random() < 0.5) await under;
    const count = random() < 0.2 ? 2 : 1;
    const targets = this.#draw(fleet.instances, count);
    await this.#moment(targets[0]!);
    // A paused svc may have been taken for dead meanwhile.
    await fleet.untilMayDie();
    this.#count('kills', targets.length);
    await Promise.all(targets.map((one) => one.kill()));
  }

  /** Resolves when nothing is under way any more. */
  async over(): Promise<void> {
    while (this.#under.size > 0) await Promise.all(this.#under);
    this.check();
  }

  /** Throws when something went wrong without an explanation. */
  check(): void {
    if (this.#faults.length > 0) throw this.#faults[0];
    assert.deepEqual(this.#parts.town.fleet.faults, []);
  }

  #drawBeside(): Beside {
    const all = Object.entries(besides) as [Beside, number][];
    let left = this.#parts.random() * all.reduce((sum, [, weight]) => sum + weight, 0);
    return (all.find(([, weight]) => (left -= weight) < 0) ?? all[0]!)[0];
  }

  #draw<T>(all: readonly T[], count: number): readonly T[] {
    const left = [...all];
    const { random } = this.#parts;
    const drawn = Array.from({ length: count }, () =>
      left.splice(Math.floor(random() * left.length), 1),
    );
    return drawn.flat();
  }

  async #moment(instance: Instance): Promise<void> {
    const { town, random } = this.#parts;
    const { program } = instance.life;
    // A paused svc logs nothing, and the wait ends with a svc that ends by itself.
    const seen = instance.isPaused
      ? { saw: () => Promise.resolve(), ended: program.ended }
      : { saw: (text: string) => program.saw(text).catch(() => {}), ended: program.ended };
    await someMoment(town, seen, random);
  }

  /** Strikes in the background. @returns null: there is no target */
  #begin(what: Beside): Promise<void> | null {
    const isOfServers = what === 'crash of the server' || what === 'promotion';
    const free = this.#parts.town.fleet.instances.filter((one) => !this.#busy.has(one) && one.isUp);
    const [target] = this.#draw(free, 1);
    if (isOfServers ? this.#serversBusy : target === undefined) return null;
    this.#count(what);
    if (isOfServers) this.#serversBusy = true;
    else this.#busy.add(target!);
    const strike = isOfServers ? this.#strikeServers(what) : this.#strike(what, target!);
    const under = strike
      .catch((error: unknown) => void this.#faults.push(error))
      .finally(() => {
        this.#under.delete(under);
        if (isOfServers) this.#serversBusy = false;
        else this.#busy.delete(target!);
      });
    this.#under.add(under);
    return under;
  }

  async #strike(what: Exclude<Beside, 'crash of the server' | 'promotion'>, one: Instance) {
    const share = this.#parts.random();
    const longMs = deadMs + share * (this.#parts.longMs - deadMs);
    switch (what) {
      case 'term':
        return one.terminate();
      case 'short pause':
        return one.pauseFor(share * this.#parts.shortMs);
      case 'long pause':
        return this.#pauseLong(one, longMs);
      case 'cut':
        return one.cut();
      case 'short silence':
        return one.silence(share * this.#parts.shortMs);
      case 'long silence':
        return one.silence(longMs);
      default:
        return what satisfies never;
    }
  }

  /** A svc that was taken for dead during its pause writes nothing any more, and ends. */
  async #pauseLong(one: Instance, ms: number): Promise<void> {
    const { rows } = this.#parts.town.fleet;
    const { life } = one;
    const id = await rows.instanceOf(one.pid);
    let isDead = false;
    const look = async (): Promise<void> => {
      await pause(ms);
      isDead = id !== null && (await rows.isDead(id).catch(() => false));
    };
    await one.pauseUntil(look());
    if (!isDead || life.how === 'SIGKILL') return;
    const what = `${one.name}, which was taken for dead, ends`;
    if ((await within(what, life.program.ended)) === 1) this.fenced++;
  }

  async #strikeServers(what: 'crash of the server' | 'promotion'): Promise<void> {
    const { servers, fleet } = this.#parts.town;
    const awayMs = this.#parts.random() * awayMsMax;
    const act = async (): Promise<void> => {
      if (what !== 'promotion') return servers.crash(awayMs);
      await servers.promote();
      await pause(awayMs);
      await servers.feed();
    };
    const acted = act();
    await Promise.all([acted, ...fleet.instances.map((one) => one.without(acted, awayMs))]);
  }

  #count(what: string, times = 1): void {
    this.done[what] = (this.done[what] ?? 0) + times;
  }
}
