import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Concern } from '../overview/concerns.ts';
import { badgesOf } from './badges.ts';

const concern = (view: string | null, tone: Concern['tone']): Concern => {
  return {
    key: `${view} ${tone}`,
    tone,
    what: '',
    remedy: null,
    place: view === null ? null : { view },
  };
};

test('a part counts what leads into one of its views, in the tone of the gravest', () => {
  const concerns = [
    concern('deliveries', 'bad'),
    concern('dead-letters', 'wait'),
    concern('model', 'wait'),
    concern(null, 'bad'),
  ];
  const groups = [['overview'], ['deliveries', 'dead-letters'], ['providers', 'model']];
  assert.deepEqual(badgesOf(concerns, groups), [
    null,
    { count: 2, tone: 'bad' },
    { count: 1, tone: 'wait' },
  ]);
});
