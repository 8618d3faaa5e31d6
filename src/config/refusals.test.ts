import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemWithoutPlace } from './problems.ts';
import { invalid, secretMissing } from './refusals.ts';

test('a refusal names ten problems in its sentence, and counts the others', () => {
  const problems = Array.from({ length: 12 }, (_, index) =>
    problemWithoutPlace('required', `brains[${index}]`, 'it is missing', 'Write it.'),
  );
  for (const refuse of [invalid, secretMissing]) {
    const few = refuse(problems.slice(0, 10));
    assert.match(few.detail, /brains\[9\]: it is missing\. Write it\. The configuration before/);
    const { detail } = refuse(problems);
    assert.doesNotMatch(detail, /brains\[10\]/);
    assert.match(detail, /There are 2 more: svc config check tells them\. The configuration/);
  }
});
