import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { steadyNow } from '../../../lib/clock.ts';
import { Flights, flightTimes } from './flights.ts';
import type { Outcome, Writer } from './writer.ts';

/** The whole process stands still. */
function stand(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

test('after a pause of the process a flight that began just now is not late', async () => {
  const answers: ((outcome: Outcome) => void)[] = [];
  const fly = (): Promise<Outcome> => new Promise((answer) => answers.push(answer));
  const writer: Pick<Writer, 'fly' | 'close'> = { fly, close() {} };
  const flights = new Flights<number, null>(writer as Writer, {
    compose: () => ({ statements: [], landed: () => null }),
    steady: steadyNow,
    times: { ...flightTimes, awayMs: 50 },
  });
  const told: string[] = [];
  const write = (mark: number): void => {
    flights.add(mark);
    flights.flush(
      () => told.push(`${mark} landed`),
      () => told.push(`${mark} refused`),
    );
  };
  const land = (): void => answers.shift()!({ kind: 'landed', answers: [] });
  write(1);
  await new Promise(setImmediate);
  assert.equal(answers.length, 1);
  write(2);
  // The answer is read after the timers.
  await new Promise((resolve) => setTimeout(resolve));
  setTimeout(() => setImmediate(land));
  stand(80);
  await pause(10);
  assert.deepEqual(told, ['1 landed']);
  assert.equal(answers.length, 1);
  land();
  await new Promise(setImmediate);
  assert.deepEqual(told, ['1 landed', '2 landed']);
  write(3);
  await pause(80);
  assert.deepEqual(told.slice(2), ['3 refused']);
  flights.abandon();
});
