/** Callers that write marks in batches, and their results. */
import assert from 'node:assert/strict';
import type { Mark, MarkBatches } from './marks.ts';

/** Without heartbeats: a batch goes only with a write. */
export const never = { heartbeatMs: 1e6 };

/** The results of callers, in order. */
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

/** The calls of `onChange`, with the state at each. */
export function newsOf(batches: MarkBatches): readonly string[] {
  const news: string[] = [];
  batches.onChange(() => news.push(`${batches.state}, ${batches.mayHandOut ? 'open' : 'held'}`));
  return news;
}
