import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Decision } from '../../domain/decision.ts';
import type { ChannelKey, MessageId, ModelName } from '../../domain/ids.ts';
import type { Sender } from '../../domain/message.ts';
import { handClock } from '../../../test/support/hand-clock.ts';
import { TurnLines } from './turn-lines.ts';

const reply: Decision = {
  kind: 'reply',
  text: 'not for a terminal',
  model: 'local_runtime/llama3.2' as ModelName,
  why: 'it ranks first',
};
const none: Decision = { kind: 'apology', apology: 'no_answer', why: 'no model answered' };
const turn = (decision: Decision, sender: Sender = { id: 'ada', name: null }) => ({
  channel: 'webhook' as ChannelKey,
  id: '01' as MessageId,
  brain: 'main',
  sender,
  decision,
  ms: 1_234,
});

function open() {
  const clock = handClock(1_000_000);
  let shown = '';
  const outlet = { write: (text: string) => void (shown += text), [Symbol.dispose]: () => {} };
  const lines = new TurnLines({ outlet, coloured: false, ...clock });
  return { lines, clock, shown: () => shown };
}

test('a line says who asked where, which model answered, and how long it took', () => {
  const { lines, shown } = open();
  lines.show(turn(reply));
  lines.show(turn(none, { id: '1', name: 'Eve\u001B[2J\n' + 'e'.repeat(100) }));
  lines.show({ ...turn(reply), command: '/new' });
  const time = String.raw`\d\d:\d\d:\d\d`;
  const pattern = [
    `^✓ ${time} ada on webhook: answered by llama3\\.2 \\(Ollama\\) in 1\\.2 s`,
    `✗ ${time} Eve\\[2J e{32}… on webhook: no answer after 1\\.2 s: no model answered`,
    `✓ ${time} ada on webhook: /new, answered by svc\n$`,
  ].join('\n');
  assert.match(shown(), new RegExp(pattern));
  assert.doesNotMatch(shown(), /not for a terminal/);
});

test('of what comes faster than a person reads, the number is told', () => {
  const { lines, clock, shown } = open();
  for (let sent = 0; sent < 5_000; sent++) lines.show(turn(reply));
  const first = shown().match(/^✓/gm)!.length;
  assert.ok(first >= 10 && first <= 30, `${first} lines`);
  clock.pass(1_000);
  lines.show(turn(reply));
  assert.equal(shown().match(/^✓/gm)!.length, first + 1);
  lines[Symbol.dispose]();
  assert.match(shown(), new RegExp(`  … and ${(5_000 - first).toLocaleString('en-US')} more\n$`));
});
