import assert from 'node:assert/strict';
import { test } from 'node:test';
import { story as known } from '../../../test/support/stories.ts';
import {
  integer,
  map,
  Misshapen,
  objectWith,
  read,
  readAny,
  text,
  textLike,
  type Schema,
} from './schema.ts';
import { storySchema } from './story.ts';

const wrong = (value: unknown, schema: Schema = storySchema): string => {
  try {
    readAny(schema, value);
  } catch (error) {
    assert.ok(error instanceof Misshapen);
    return error.message;
  }
  return 'nothing is wrong';
};

test('a story that came over the wire is read whole', () => {
  const sent: unknown = JSON.parse(JSON.stringify({ ...known, ofALaterVersion: true }));
  assert.deepEqual(read(storySchema, sent), known);
});

test('what is something else is named by its place', () => {
  const trace = known.trace!;
  const cases: readonly (readonly [unknown, string])[] = [
    [null, 'the whole is not an object'],
    [{ ...known, id: 1 }, 'id is not a text'],
    [{ ...known, acceptedAt: 1.5 }, 'acceptedAt is not a whole number'],
    [{ ...known, acceptedAt: '1' }, 'acceptedAt is not a whole number'],
    [{ ...known, acceptedAt: 2 ** 53 }, 'acceptedAt is not a whole number'],
    [{ ...known, state: 'lost' }, 'state is not one of waiting, answered, dead'],
    [{ ...known, replies: [{}] }, 'replies[0].id is not a text'],
    [{ ...known, trace: { ...trace, steps: {} } }, 'trace.steps is not a list'],
    [
      { ...known, trace: { ...trace, steps: [{ kind: 'constructor' }] } },
      'trace.steps[0].kind is not known to this version',
    ],
  ];
  for (const [value, message] of cases) assert.equal(wrong(value), message);
});

test('a text that an older svc leaves out is that of another property', () => {
  const schema = objectWith({ type: text }, { name: textLike('type') });
  assert.deepEqual(read(schema, { type: 'webhook' }), { type: 'webhook', name: 'webhook' });
  const named = { type: 'webhook', name: 'intake' };
  assert.deepEqual(read(schema, named), named);
  assert.equal(wrong({ type: 'webhook', name: 7 }, schema), 'name is not a text');
  const written = { type: 'object', required: ['type'], properties: { type: text, name: text } };
  assert.deepEqual(JSON.parse(JSON.stringify(schema)), written);
});

test('a list is no map', () => {
  assert.equal(wrong([1], map(integer)), 'the whole is not an object');
  assert.deepEqual(read(map(integer), { one: 1 }), { one: 1 });
});
