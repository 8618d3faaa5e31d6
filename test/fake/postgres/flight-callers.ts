/** Who writes marks by flights, and what they are told. */
import assert from 'node:assert/strict';
import type { Mark, MarkBatches } from './marks.ts';

/** For flights that go only with what is written. */
export const never = { heartbeatMs: 1e6 };

/** What callers were told, in order. */
export class Told {
  readonly all: string[] = [];

  write(batches: MarkBatches, mark: Mark): void {
    batches.add(mark);
    batches.flush((places) => this.#landed(mark, places !== null));
  }

  tryTo(batches: MarkBatches, mark: Mark): void {
    batches.add(mark);
    batches.flush(
      (places) => this.#landed(mark, places !== null),
      () => this.all.push(`${mark} refused`),
    );
  }

  has(...all: readonly string[]): boolean {
    return all.every((one) => this.all.includes(one));
  }

  #landed(mark: Mark, has: boolean): void {
    this.all.push(`${mark} ${has ? 'landed' : 'lost'}`);
  }
}

export function write(batches: MarkBatches, mark: Mark): Promise<boolean> {
  batches.add(mark);
  return batches.written((places) => assert.ok(places.has(mark)));
}

/** What `onChange` tells, and what is so just then. */
export function newsOf(batches: MarkBatches): readonly string[] {
  const news: string[] = [];
  batches.onChange(() => news.push(`${batches.state}, ${batches.mayHandOut ? 'open' : 'held'}`));
  return news;
}
