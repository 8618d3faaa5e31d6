import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TurnRow } from '../../domain/conversation.ts';
import type { Message } from '../../domain/message.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import { ProcessLabels } from './memory.ts';

const said = (who: string, sensitivity: Sensitivity = 'public', channel = 'telegram:1') =>
  ({ channel, conversation: who, sensitivity }) as unknown as Message;
const turn = (sensitivity: Sensitivity) => ({ turn: { sensitivity } as TurnRow });

test('a conversation is private from its first private turn or message on', () => {
  const labels = new ProcessLabels();
  labels.ended(said('ann'), turn('public'));
  labels.ended(said('bob', 'private'), { turn: null });
  labels.ended(said('cy'), turn('private'));
  labels.ended(said('cy'), turn('public'));
  labels.ended(said('dee'), null);
  const of = ['ann', 'bob', 'cy', 'dee', 'new'].map((who) => labels.of(said(who)));
  assert.deepEqual(of, ['public', 'private', 'private', 'public', 'public']);
});

test('once there are too many to tell apart all of a channel are private', () => {
  const labels = new ProcessLabels();
  for (let n = 1; n < 10_000; n++) labels.ended(said(`p${n}`, 'private'), null);
  assert.equal(labels.of(said('ann')), 'public');
  labels.ended(said('p', 'private'), null);
  assert.equal(labels.of(said('ann')), 'private');
  assert.equal(labels.of(said('ann', 'public', 'discord:2')), 'public');
});
