import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentOf, lineFor, nothingFound, usualPlace } from '../../apps/setup/document.ts';
import { databaseFor, isOfUnit } from './service-place.ts';
import type { Draft } from '../../apps/setup/state.ts';

const draft: Draft = {
  file: 'new',
  model: { kind: 'practice' },
  channel: { kind: 'channel', type: 'webhook', bot: null },
  access: null,
  pasted: [],
  keep: 'by_hand',
};

test('a configuration in /etc/svc has its database in /var/lib/svc, any other beside it', () => {
  const storageOf = (file: string): unknown => {
    const place = { ...usualPlace, database: databaseFor(file) };
    return documentOf(draft, { ...nothingFound, place })['storage'];
  };
  assert.deepEqual(storageOf('/etc/svc/svc.json'), { path: '/var/lib/svc/svc.db' });
  for (const file of ['/etc/svc.json', '/etc/svc/more/svc.json', '/home/ann/svc.json']) {
    assert.deepEqual(storageOf(file), { path: 'svc.db' }, file);
  }
});

test('a unit is told of where there is one, and its secrets go where it finds them', () => {
  const there = new Set(['/usr/lib/systemd/system/svc.service']);
  const isThere = (path: string): boolean => there.has(path);
  assert.equal(isOfUnit('/etc/svc/svc.json', isThere), true);
  assert.equal(isOfUnit('/home/ann/svc.json', isThere), false);
  there.clear();
  assert.equal(isOfUnit('/etc/svc/svc.json', isThere), false);
  assert.equal(
    lineFor('WEBHOOK_SECRET', false, true),
    'head -c 32 /dev/urandom | base64 | sudo tee /etc/credstore/svc/WEBHOOK_SECRET >/dev/null',
  );
  assert.equal(
    lineFor('TELEGRAM_TOKEN', false, true),
    'systemd-ask-password -n TELEGRAM_TOKEN: | ' +
      'sudo tee /etc/credstore/svc/TELEGRAM_TOKEN >/dev/null',
  );
});
