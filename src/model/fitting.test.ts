import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryLine } from '../domain/conversation.ts';
import { failure } from '../domain/failure.ts';
import type { Outcome } from '../domain/outcome.ts';
import { Fitting } from './fitting.ts';
import type { ModelRequest } from './model.ts';

/** So many lines of 10 characters, the last of them the person's. */
function requestOf(count: number): ModelRequest {
  const lines = Array.from({ length: count }, (_, index): HistoryLine => ({
    role: (count - index) % 2 === 1 ? 'user' : 'assistant',
    text: `line ${index}`.padEnd(10),
  }));
  return {
    sensitivity: 'public',
    system: null,
    lines,
    keptFrom: count - 1,
    tools: [],
    deadlineAt: 0,
  };
}

/** A model that reads so many characters, and what it was asked. */
class Reader {
  readonly asked: ModelRequest[] = [];
  private readonly charactersMax: number;

  constructor(charactersMax: number) {
    this.charactersMax = charactersMax;
  }

  readonly ask = (request: ModelRequest): Promise<Outcome> => {
    this.asked.push(request);
    const characters = request.lines.reduce((sum, line) => sum + line.text.length, 0);
    const tries = [{ startedAt: 0, ms: 1, failed: null }];
    return Promise.resolve(
      characters > this.charactersMax
        ? { kind: 'failed', failure: failure('context_overflow'), tries }
        : { kind: 'answer', text: 'ok', calls: [], usage: null, tries, linesDropped: 0 },
    );
  };
}

const dropped = (outcome: Outcome): number =>
  outcome.kind === 'answer' ? outcome.linesDropped : -1;

test('what fits is sent as it is', async () => {
  const reader = new Reader(1_000);
  const request = requestOf(9);
  assert.equal(dropped(await new Fitting().ask(request, reader.ask)), 0);
  assert.equal(reader.asked[0], request);
});

test('the oldest half goes on an overflow, and later requests are cut beforehand', async () => {
  const reader = new Reader(60);
  const fitting = new Fitting();
  const first = await fitting.ask(requestOf(11), reader.ask);
  assert.equal(first.tries.length, 2);
  // Half of ten is five; the answer that would come first then goes as well.
  assert.equal(dropped(first), 6);
  assert.equal(reader.asked.length, 2);
  const second = await fitting.ask(requestOf(21), reader.ask);
  assert.equal(reader.asked.length, 3);
  assert.equal(dropped(second), 16);
  assert.equal(reader.asked[2]!.lines[0]!.role, 'user');
  assert.equal(dropped(await fitting.ask(requestOf(3), reader.ask)), 0);
});

test('it is asked once more, not for ever, and less is sent the next time', async () => {
  const reader = new Reader(25);
  const fitting = new Fitting();
  const first = await fitting.ask(requestOf(11), reader.ask);
  assert.ok(first.kind === 'failed' && first.failure.kind === 'context_overflow');
  assert.equal(reader.asked.length, 2);
  const second = await fitting.ask(requestOf(11), reader.ask);
  assert.equal(dropped(second), 10);
  assert.equal(reader.asked.length, 3);
});

test('a message that is too long by itself is a failure, and cuts nothing later', async () => {
  const reader = new Reader(5);
  const fitting = new Fitting();
  const outcome = await fitting.ask(requestOf(1), reader.ask);
  assert.equal(outcome.kind, 'failed');
  assert.equal(reader.asked.length, 1);
  await fitting.ask(requestOf(5), new Reader(1_000).ask);
});
