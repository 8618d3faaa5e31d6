import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../domain/failure.ts';
import type { ModelName } from '../../domain/ids.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { createConsensus } from './consensus.ts';
import type { Slot, Verdict } from './policy.ts';
import { createPriority } from './priority.ts';

/** `?`: may still answer; `!`: failed; every other text is an answer. */
function slots(...marks: readonly string[]): readonly Slot[] {
  return marks.map((mark, at) => ({ model: `m${at}` as ModelName, outcome: outcomeOf(mark) }));
}

function outcomeOf(mark: string): Outcome | null {
  if (mark === '?') return null;
  if (mark === '!') return { kind: 'failed', failure: failure('timeout'), tries: [] };
  return { kind: 'answer', text: mark, calls: [], usage: null, tries: [], linesDropped: 0 };
}

/** `reply 1`, `wait`, `wait 1` (with a fallback), or the reason for no reply. */
function brief(verdict: Verdict): string {
  if (verdict.kind === 'reply') return `reply ${verdict.slot}`;
  if (verdict.kind === 'none') return verdict.reason;
  return verdict.fallback === null ? 'wait' : `wait ${verdict.fallback}`;
}

const priorityCases: readonly (readonly [string, string])[] = [
  ['a', 'reply 0'],
  ['a ?', 'reply 0'],
  ['! b ?', 'reply 1'],
  ['? b', 'wait 1'],
  ['? b c', 'wait 1'],
  ['! ? c', 'wait 2'],
  ['? !', 'wait'],
  ['! !', 'no_answer'],
  ['', 'no_answer'],
];

const consensusCases: readonly (readonly [string, string])[] = [
  ['a A.', 'reply 0'],
  ['a b', 'no_consensus'],
  ['a', 'no_consensus'],
  ['a !', 'no_consensus'],
  ['! !', 'no_answer'],
  ['a ?', 'wait'],
  ['! ?', 'wait'],
  ['a a ?', 'reply 0'],
  ['b a a', 'reply 1'],
  ['! a a', 'reply 1'],
  ['a b ?', 'wait'],
  ['a b c ?', 'no_consensus'],
  ['a a b b', 'no_consensus'],
  ['a a ? ?', 'wait'],
  ['a a ! ?', 'wait'],
  ['b a a ! !', 'reply 1'],
  ['a a b b ?', 'wait'],
];

test('priority takes the best-ranked answer as soon as nothing better can come', () => {
  const policy = createPriority();
  for (const [marks, expected] of priorityCases) {
    const given = slots(...marks.split(' ').filter((mark) => mark !== ''));
    assert.equal(brief(policy.judge(given)), expected, marks);
  }
});

test('consensus takes what more than half agree on, two at least, once that is certain', () => {
  const policy = createConsensus();
  for (const [marks, expected] of consensusCases) {
    assert.equal(brief(policy.judge(slots(...marks.split(' ')))), expected, marks);
  }
});

test('votes are groups of models, the largest first, and an explanation holds no answer', () => {
  const verdict = createConsensus().judge(slots('Lyon', 'Paris', '!', 'paris.', 'Nice', 'PARIS'));
  assert.ok(verdict.kind === 'reply');
  assert.deepEqual(verdict.votes, [['m1', 'm3', 'm5'], ['m0'], ['m4']]);
  assert.equal(verdict.why, '3 of 5 answers agree');
});

test('an early consensus is never taken back by what comes later', () => {
  const policy = createConsensus();
  const every = (length: number): string[][] =>
    length === 0
      ? [[]]
      : every(length - 1).flatMap((rest) => ['a', 'b', '!', '?'].map((mark) => [...rest, mark]));
  for (const marks of every(5)) {
    const early = policy.judge(slots(...marks));
    const at = marks.indexOf('?');
    if (at < 0 || early.kind === 'wait') continue;
    for (const mark of ['a', 'b', 'c', '!']) {
      const later = policy.judge(slots(...marks.with(at, mark)));
      assert.equal(later.kind, early.kind, `${marks.join(' ')} then ${mark}`);
    }
  }
});
