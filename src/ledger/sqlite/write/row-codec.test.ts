import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageId } from '../../../domain/ids.ts';
import type { Trace, TraceStep } from '../../../domain/trace.ts';
import { traceWrite } from './row-codec.ts';

const id = 'm' as MessageId;
const step = (n: number): TraceStep => ({
  kind: 'tool',
  tool: `calc-${n}`,
  mode: 'allow',
  outcome: 'done',
  rule: 'no_governance',
  startMs: n,
  ms: 1,
});
const trace = (steps: number): Trace => ({
  acceptedAt: 1,
  claimedAt: 2,
  decidedAt: 3,
  brain: 'helper',
  attempt: 1,
  outcome: 'unfinished',
  steps: Array.from({ length: steps }, (_, n) => step(n)),
});

test('of a trace that is too long the first steps are kept, as many as fit', () => {
  for (let steps = 0; steps < 60; steps++) {
    const body = String(traceWrite(id, trace(steps))[2]);
    const kept = JSON.parse(body) as Trace;
    assert.ok(body.length <= 2_560, `${steps} steps`);
    assert.deepEqual(kept, trace(kept.steps.length));
    const one = JSON.stringify(step(steps)).length + 1;
    const full = kept.steps.length === steps || body.length + one > 2_560;
    assert.ok(full, `${kept.steps.length} of ${steps} steps fit`);
  }
});
