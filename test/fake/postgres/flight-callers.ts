/** Who writes marks by flights, and what they are told. */
import assert from 'node:assert/strict';
import type { Mark, MarkFlights } from './marks.ts';

/** For flights that go only with what is written. */
export const never = { beatMs: 1e6 };

/** What callers were told, in order. */
export class Told {
  readonly all: string[] = [];

  write(flights: MarkFlights, mark: Mark): void {
    flights.add(mark);
    flights.flush((places) => this.#landed(mark, places !== null));
  }

  tryTo(flights: MarkFlights, mark: Mark): void {
    flights.add(mark);
    flights.flush(
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

export function write(flights: MarkFlights, mark: Mark): Promise<boolean> {
  flights.add(mark);
  return flights.written((places) => assert.ok(places.has(mark)));
}

/** What `onChange` tells, and what is so just then. */
export function newsOf(flights: MarkFlights): readonly string[] {
  const news: string[] = [];
  flights.onChange(() => news.push(`${flights.state}, ${flights.mayHandOut ? 'open' : 'held'}`));
  return news;
}
