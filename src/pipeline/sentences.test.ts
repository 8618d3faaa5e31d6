import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sentenceOf, newSessionHint } from './sentences.ts';

const noon = new Date(2026, 10, 27, 12).getTime();
const over = (opensAt: number | null) => ({ apology: 'over_budget', opensAt }) as const;

test('a person is told when there is an answer again, in the time of the machine', () => {
  const when = (opensAt: number): string => sentenceOf(over(opensAt), noon);
  const first = 'I have used what I may use for one day. I can answer again';
  assert.equal(when(new Date(2026, 10, 28).getTime()), `${first} tomorrow at 00:00.`);
  assert.equal(when(new Date(2026, 10, 27, 18, 5).getTime()), `${first} today at 18:05.`);
  assert.equal(when(new Date(2026, 11, 1, 9).getTime()), `${first} on 2026-12-01 at 09:00.`);
  assert.equal(newSessionHint(over(noon), '/new'), null);
});

test('of a message that is too large they are told what may help', () => {
  assert.match(sentenceOf(over(null), noon), /more than I may use for one message/);
  assert.match(newSessionHint(over(null), '/new')!, /^\/new begins a new conversation/);
});
