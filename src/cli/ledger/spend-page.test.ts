import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SpendSummary } from '../../admin/spend.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { SpendBy, SpendRow } from '../../domain/spend.ts';
import { spendPage } from './spend.ts';

const row: SpendRow = {
  key: 'hosted_runtime/big',
  channel: null,
  calls: 12,
  tokens: { input: 1_240, output: 80 },
  costing: { input: 1_240, output: 80 },
  estimatedCalls: 3,
  open: { input: 100, output: 50 },
  cost: '0.0012',
  openCost: '0.0004',
  firstDay: '2026-11-01',
  lastDay: '2026-11-02',
};

function told(by: SpendBy, ...rows: readonly SpendRow[]): SpendSummary {
  return { by, since: '2026-10-29', rows, total: rows[0] ?? { ...row, calls: 0 } };
}

const lines = (page: string): readonly string[] =>
  page.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | '));

test('calls, tokens, what is estimated, what is reserved and what it costs stand in a row', () => {
  assert.deepEqual(lines(spendPage(told('model', row), [])), [
    'model | calls | tokens in | tokens out | estimated | reserved | cost | cost reserved',
    'big (OpenAI API) | 12 | about 1240 | about 80 | 3 of 12 | 150 | 0.0012 | 0.0004',
    'in all | 12 | about 1240 | about 80 | 3 of 12 | 150 | 0.0012 | 0.0004',
    '',
  ]);
});

test('what nothing of is there takes no words: no price, no estimate, nothing reserved', () => {
  const none = { estimatedCalls: 0, open: { input: 0, output: 0 }, cost: null, openCost: null };
  const page = spendPage(told('day', { ...row, ...none, key: '2026-11-01' }), []);
  assert.deepEqual(lines(page), [
    'day | calls | tokens in | tokens out | estimated | reserved',
    '2026-11-01 | 12 | 1240 | 80',
    'in all | 12 | 1240 | 80',
    '',
  ]);
});

test('a sender is told with the channel, without what could drive a terminal', () => {
  const sender = { ...row, key: 'ada\u001B[2J', channel: 'messenger_a:47' as ChannelKey };
  const [, line] = lines(spendPage(told('sender', sender), []));
  assert.match(line!, /^Telegram \(bot 47\) \| ada.* \| 12 \|/);
  assert.ok(!line!.includes('\u001B'));
});

test('without a call it says since when, and budgets stand below all the same', () => {
  const day = { limit: 'tokens_per_day', most: '1000', used: '250', reserved: '0' } as const;
  const turn = { limit: 'tokens_per_turn', most: '200', used: null, reserved: null } as const;
  const limits = [
    { ...day, percent: 25 },
    { ...turn, percent: null },
  ];
  assert.deepEqual(lines(spendPage(told('brain'), [{ brain: 'desk', limits }])), [
    'No model was called since 2026-10-29.',
    '',
    'brain | budget | at most | used today | reserved | full',
    'desk | tokens_per_day | 1000 | 250 | 25 %',
    'desk | tokens_per_turn | 200',
    '',
  ]);
});
