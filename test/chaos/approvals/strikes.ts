/** Kills at seeded moments, and jumps of the clock between an end and the next start. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Deeds } from './life.ts';
import { moments, type Moment } from './moments.ts';
import type { Scene } from './scene.ts';

/** Longer than a question waits, by any clock. */
const jumpMs = 90 * 60_000;
/** The longest wait for a moment; the strike comes without it then. */
const momentMs = 1_500;
/** A strike comes at most this much after its moment. */
const laterMs = 20;

export type StrikesParts = {
  readonly scene: Scene;
  readonly deeds: Deeds;
  /** The number of orders under way. */
  readonly underWay: () => number;
  /** The longest pause between two kills, besides the wait for the moment. */
  readonly betweenMs: number;
  /** Later strikes only let time pass: a slow machine would do nothing but start. */
  readonly killsMax: number;
};

export class Strikes {
  kills = 0;
  jumps = 0;
  readonly #parts: StrikesParts;
  /** Only a kill can bring this moment about, so it comes first. */
  #deck: Moment[] = ['running'];

  constructor(parts: StrikesParts) {
    this.#parts = parts;
  }

  /** Strikes until that promise settles. */
  async until(over: Promise<unknown>): Promise<void> {
    const { scene, deeds, underWay, betweenMs, killsMax } = this.#parts;
    const { random } = scene;
    const ended = { isOver: false };
    const ending = over.then(
      () => void (ended.isOver = true),
      () => void (ended.isOver = true),
    );
    for (;;) {
      await scene.services.untilMayDie();
      this.#check();
      await Promise.race([ending, pause(random() * betweenMs)]);
      const moment = scene.moments.next(this.#draw());
      await Promise.race([ending, moment, pause(momentMs)]);
      await Promise.race([ending, pause(random() * laterMs)]);
      if (ended.isOver) break;
      const waiting = deeds.waiting.size;
      const isEnough = this.kills >= killsMax;
      const isTime = waiting > 0 && (isEnough || waiting === underWay() || random() < 0.3);
      if (isEnough && !isTime) continue;
      await (isTime ? this.#jump() : this.#kill());
    }
    this.#check();
  }

  async #kill(): Promise<void> {
    const { scene, deeds } = this.#parts;
    const { instances } = scene.services;
    this.kills++;
    deeds.strikes++;
    await instances[Math.floor(scene.random() * instances.length)]!.kill();
  }

  /**
   * Kills all, and starts them when every question's time is over. That happens once to a question:
   * on a slow machine its turn would else be struck again and again.
   */
  async #jump(): Promise<void> {
    const { scene, deeds } = this.#parts;
    const { instances } = scene.services;
    this.jumps++;
    deeds.strikes++;
    this.kills += instances.length;
    const goOn = instances.map((one) => one.hold());
    await Promise.all(instances.map((one) => one.kill()));
    await scene.services.passTime(jumpMs);
    for (const end of deeds.waiting.values()) end();
    deeds.waiting.clear();
    for (const go of goOn) go();
  }

  #check(): void {
    const { instances } = this.#parts.scene.services;
    assert.deepEqual(
      instances.flatMap(({ faults }) => faults),
      [],
    );
  }

  /** Draws each moment once before one comes again. */
  #draw(): Moment {
    const { random } = this.#parts.scene;
    if (this.#deck.length === 0) this.#deck = [...moments];
    const at = Math.floor(random() * this.#deck.length);
    const [drawn] = this.#deck.splice(at, 1);
    if (drawn !== 'any') return drawn!;
    const { moments: seen } = this.#parts.scene;
    queueMicrotask(() => seen.note('any'));
    return drawn;
  }
}
