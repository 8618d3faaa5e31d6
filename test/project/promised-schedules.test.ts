/** The schedules that docs/how-it-works/delivery.md promises. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dedupeMsOf } from '../../src/channels/registry.ts';
import { channelKeyOf, type ChannelKey } from '../../src/domain/ids.ts';
import { memoryDurability } from '../../src/ledger/memory/memory.ts';
import { keptDurability } from '../../src/ledger/engine/schedule.ts';

const hourMs = 3_600_000;

test('with storage a reply is tried 13 times in about 76 hours, the first five in order', () => {
  const { deliveryGapsMs: gaps, hotGaps, jitter, durable, drainMs, drainsBacklog } = keptDurability;
  assert.equal(gaps.length + 1, 13);
  const hours = gaps.reduce((sum, gap) => sum + gap, 0) / hourMs;
  assert.ok(hours > 75 && hours < 77, `${hours}`);
  assert.deepEqual(gaps.slice(0, hotGaps), [1_000, 5_000, 20_000, 60_000]);
  const rest = [1 / 12, 1 / 2, 2, 5, 10, 14, 20, 24].map((gap) => gap * hourMs);
  assert.deepEqual(gaps.slice(hotGaps), rest);
  assert.deepEqual([durable, jitter, drainMs, drainsBacklog], [true, 0.2, 5_000, false]);
});

test('without storage a reply is tried at once, after 5 s and 50 s; a stop works all off', () => {
  const { deliveryGapsMs, hotGaps, durable, drainMs, drainsBacklog } = memoryDurability;
  assert.deepEqual([deliveryGapsMs, hotGaps], [[5_000, 45_000], 2]);
  assert.deepEqual([durable, drainMs, drainsBacklog], [false, 30_000, true]);
});

test('with storage a message is recognised for 30 days on a messenger, for 7 on a webhook', () => {
  const days = (channel: ChannelKey): number => dedupeMsOf(channel) / (24 * hourMs);
  assert.deepEqual(
    ['messenger_a', 'messenger_b'].map((type) => days(channelKeyOf({ name: type, type }, '7'))),
    [30, 30],
  );
  assert.equal(days('webhook' as ChannelKey), 7);
  assert.equal(days('of an older release:7' as ChannelKey), 30);
});
