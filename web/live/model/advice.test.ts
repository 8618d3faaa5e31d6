/** Advice about a model, for every kind of failure. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureKinds } from '../../../src/domain/failure.ts';
import { adviceFor } from './advice.ts';

test('every failure of every provider is told as a sentence, and says what to do', () => {
  for (const name of ['local_runtime/llama3.2', 'hosted_runtime/big', 'unheard/of']) {
    for (const kind of failureKinds) {
      const { wrong, steps } = adviceFor(kind, name);
      assert.match(wrong, /^[A-Z].*\.$/, `${name} ${kind}`);
      assert.ok(steps.length > 0, `${name} ${kind}`);
    }
  }
});

test('a runtime that is away is to be started, and a model that it lacks to be fetched', () => {
  const kindsOf = (kind: 'connect_failed' | 'not_found', name: string): readonly string[] =>
    adviceFor(kind, name).steps.map((step) => step.kind);
  assert.deepEqual(kindsOf('connect_failed', 'local_runtime/a/b'), ['start', 'address']);
  // No action of a person brings the practice model back.
  assert.deepEqual(kindsOf('connect_failed', 'local_runtime/practice'), ['real']);
  assert.deepEqual(adviceFor('not_found', 'local_runtime/a/b').steps[0], {
    kind: 'fetch',
    command: 'ollama pull a/b',
  });
  assert.deepEqual(kindsOf('not_found', 'hosted_runtime/big'), ['replace']);
  assert.deepEqual(adviceFor('unauthorized', 'hosted_runtime/big').steps, [{ kind: 'key' }]);
});
