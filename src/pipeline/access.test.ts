import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assert as hold, constantFrom, property, record, subarray } from 'fast-check';
import type { AccessConfig } from '../config/config.ts';
import type { Inbound, Setting } from '../domain/message.ts';
import { judge, openAccess } from './gate.ts';

const admitted = (sender: string): boolean => sender === 'paired';

const knows = ({ text }: Inbound): boolean => text === '/new';

function ends(
  access: Partial<AccessConfig>,
  sender: string,
  setting?: Setting,
  text = 'hello',
): string {
  const inbound = {
    text,
    sender: { id: sender, name: null },
    ...(setting && { setting }),
  } as Inbound;
  const judgement = judge({ ...openAccess, ...access }, { isAdmitted: admitted, knows }, inbound);
  return judgement.kind === 'turned_away' ? judgement.reason : judgement.kind;
}

test('without rules anyone may talk, in groups when addressed', () => {
  assert.equal(ends({}, 'anyone'), 'passes');
  assert.equal(ends({}, 'anyone', 'direct'), 'passes');
  assert.equal(ends({}, 'anyone', 'addressed'), 'passes');
  assert.equal(ends({}, 'anyone', 'overheard'), 'not_addressed');
});

test('with a list those on it may talk, and with an empty one nobody', () => {
  assert.equal(ends({ allow: ['1', '2'] }, '2'), 'passes');
  assert.equal(ends({ allow: ['1', '2'] }, '3'), 'stranger');
  assert.equal(ends({ allow: ['12'] }, '1'), 'stranger', 'an id is the whole id');
  assert.equal(ends({ allow: [] }, '1'), 'stranger');
  assert.equal(ends({ allow: [] }, 'paired'), 'stranger', 'pairing is off');
});

test('pairing lets in whom the operator admitted, and a stranger may ask for one', () => {
  for (const allow of [null, [], ['1']]) {
    assert.equal(ends({ allow, pairing: true }, 'paired', 'direct'), 'passes');
    assert.equal(ends({ allow, pairing: true }, 'paired', 'addressed'), 'passes');
    assert.equal(ends({ allow, pairing: true }, '5', 'direct'), 'knocks');
    assert.equal(ends({ allow, pairing: true }, '5', 'addressed'), 'stranger');
  }
});

test('groups are answered as the rules say, and then only who may talk', () => {
  for (const setting of ['addressed', 'overheard'] as const) {
    assert.equal(ends({ groups: 'off', allow: ['1'] }, '1', setting), 'groups_off');
    assert.equal(ends({ groups: 'all', allow: ['1'] }, '1', setting), 'passes');
    assert.equal(ends({ groups: 'all', allow: ['1'] }, '2', setting), 'stranger');
  }
  assert.equal(ends({ groups: 'off', allow: ['1'] }, '1', 'direct'), 'passes');
});

test('a command that names nobody is ours where there is one, and else said to others', () => {
  assert.equal(ends({}, '1', 'command', '/new'), 'passes');
  assert.equal(ends({}, '1', 'command', '/weather'), 'not_addressed');
  assert.equal(ends({ groups: 'all' }, '1', 'command', '/weather'), 'passes');
  assert.equal(ends({ groups: 'off' }, '1', 'command', '/new'), 'groups_off');
  assert.equal(ends({ allow: ['2'] }, '1', 'command', '/new'), 'stranger');
  assert.equal(ends({ allow: ['2'] }, '1', 'command', '/weather'), 'not_addressed');
  assert.equal(ends({ pairing: true }, '1', 'command', '/new'), 'stranger', 'no code in a group');
});

test('nobody passes who is neither on the list nor admitted, whatever else is ruled', () => {
  const rules = record({
    allow: subarray(['1', '2']),
    groups: constantFrom('mention', 'all', 'off'),
    pairing: constantFrom(true, false),
  });
  const settings = constantFrom<Setting>('direct', 'addressed', 'command', 'overheard');
  const law = property(rules, settings, (access, setting) => {
    assert.notEqual(ends(access, 'stranger', setting), 'passes');
  });
  hold(law);
});
