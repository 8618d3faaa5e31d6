/** One configuration for all instances on a database: all instances take it into use, or none. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { revisionOf } from '../../src/config/inspect.ts';
import { beginConfig } from '../../src/app/run.ts';
import { createAlone } from '../../src/cluster/alone.ts';
import {
  clusterOf,
  House,
  marked,
  sharedDocument,
  webhookAt,
  type Instance,
} from './stage-postgres.ts';
import { noPostgres } from '../fake/postgres.ts';
import { Way } from '../fake/postgres/way.ts';
import { until } from '../support/waiting.ts';

const inUseAt = (document: object, ...all: Instance[]): Promise<void> => {
  const revision = revisionOf(JSON.stringify(document));
  return until('all have it in use', () => all.every((one) => one.revision === revision));
};

suite('one configuration', { skip: noPostgres }, () => {
  test('what is applied at one is in use at all, and in no file', async () => {
    await using house = await House.open();
    const [a, b, c] = [await house.start('a'), await house.start('b'), await house.start('c')];
    const next = marked('next');
    const told = await b.put(next);
    assert.ok(told.kind === 'applied', JSON.stringify(told));
    // The answer comes when all have it, or names those that lack it.
    const late = [a, b, c].filter(({ revision }) => revision !== told.revision);
    const behind = told.warnings.filter(({ code }) => code === 'config_behind');
    assert.ok(behind.length >= late.length, JSON.stringify(told.warnings));
    await inUseAt(next, a, b, c);
    for (const one of [a, b, c]) {
      const { place, file, text } = one.control.inUse();
      assert.deepEqual([place, file, text], ['database', null, JSON.stringify(next)]);
      assert.equal(await readFile(one.file, 'utf8'), JSON.stringify(sharedDocument()));
      const disk = await one.control.onDisk();
      assert.deepEqual([disk.revision, disk.text], [told.revision, null]);
      await until('the address of before is let go', () => one.listening === 1);
    }
    assert.match(a.said, /"config_followed"/);
  });

  test('what was before is kept for all, and comes back the same way', async () => {
    await using house = await House.open();
    const [a, b] = [await house.start('a'), await house.start('b')];
    const first = a.revision;
    assert.equal((await a.put(marked('next'))).kind, 'applied');
    await inUseAt(marked('next'), a, b);
    const rows = await b.control.history();
    assert.ok(!('kind' in rows));
    assert.deepEqual(
      rows.map(({ revision, used }) => [revision, used]),
      [
        [a.revision, true],
        [first, false],
      ],
    );
    assert.deepEqual(await a.control.history(), rows);
    const kept = await b.control.kept(first);
    assert.ok(kept !== null && 'text' in kept);
    assert.equal((await b.put(kept.text)).kind, 'applied');
    await until('both have it', () => a.revision === first && b.revision === first);
    const after = await a.control.history();
    assert.ok(!('kind' in after));
    assert.deepEqual(
      after.map(({ revision }) => revision),
      [first, rows[0]!.revision],
    );
    assert.equal(await a.control.kept('f00f00f00f00'), null);
  });

  test('of two that come at once at two of them one wins, and the other is told', async () => {
    await using house = await House.open();
    const [a, b] = [await house.start('a'), await house.start('b')];
    const both = await Promise.all([a.put(marked('of a')), b.put(marked('of b'))]);
    const applied = both.find(({ kind }) => kind === 'applied');
    const refused = both.find(({ kind }) => kind === 'refused');
    assert.ok(applied?.kind === 'applied' && refused?.kind === 'refused', JSON.stringify(both));
    assert.ok(refused.code === 'revision_conflict');
    assert.equal(refused.revision, applied.revision);
    await until('both have it', () => [a, b].every((one) => one.revision === applied.revision));
    const late = await a.put(marked('late'), 'f00f00f00f00');
    assert.equal(late.kind === 'refused' && late.code, 'revision_conflict');
  });

  test('a signal proposes the file of its machine; the one in use is only taken anew', async () => {
    await using house = await House.open();
    const [a, b] = [await house.start('a'), await house.start('b')];
    const next = marked('by hand');
    await b.write(next);
    b.hangUp();
    await inUseAt(next, a, b);
    const before = b.control.inUse().usedAt;
    b.hangUp();
    await until('it is taken anew', () => b.control.inUse().usedAt > before);
    const rows = await a.control.history();
    assert.equal('length' in rows && rows.length, 2);
    await b.write(sharedDocument({ routes: [] }));
    b.hangUp();
    await until('it is told', () => /"config_not_applied"/.test(b.said));
    assert.equal(b.control.warnings[0]?.code, 'config_not_applied');
    assert.equal(a.revision, b.revision);
  });

  test('whoever hears nothing takes it all the same', async () => {
    await using house = await House.open();
    const [a, b] = [await house.start('a'), await house.start('b')];
    b.member.deaf = true;
    const told = await a.put(marked('next'));
    assert.equal(told.kind, 'applied', JSON.stringify(told));
    await inUseAt(marked('next'), a, b);
  });

  test('who comes with an older one takes the one in use', async () => {
    await using house = await House.open();
    const a = await house.start('a');
    const { n } = await a.member.configs.current();
    assert.equal((await a.put(marked('next'))).kind, 'applied');
    const b = await house.start('b', { n });
    await inUseAt(marked('next'), a, b);
    assert.equal((await b.put(marked('one more'))).kind, 'applied');
    await inUseAt(marked('one more'), a, b);
  });

  test('who cannot take what is in use ends, and the others tell of it until then', async () => {
    await using house = await House.open();
    const [a, b] = [
      await house.start('a', { env: { LATER: 'x'.repeat(20) } }),
      await house.start('b'),
    ];
    const text = JSON.stringify(
      sharedDocument({ channels: [{ ...webhookAt('127.0.0.1:0'), token_env: 'LATER' }] }),
    );
    // Simulates a yes before the instance lost its variable.
    await a.member.configs.replace({ text, revision: revisionOf(text), by: 'operator' });
    await house.instances.client.query("UPDATE svc.config SET at = at - interval '1 min'");
    await until('it is told', () =>
      a.control.warnings.some(({ code }) => code === 'config_behind'),
    );
    assert.match(
      a.control.warnings.find(({ code }) => code === 'config_behind')!.message,
      new RegExp(`older configuration is still in use at instance ${b.id} \\(b, svc 1\\.2\\.3\\)`),
    );
    await until('it ends', () => b.behind.length > 0);
    assert.match(b.behind[0]!, /LATER is not set/);
    assert.match(b.said, /"config_behind"/);
    await until('the other has it', () => a.revision === revisionOf(text));
  });

  test('what an instance proposed that is dead by now holds up nobody', async () => {
    await using house = await House.open();
    const [a, ghost] = [await house.start('a'), await house.instances.join('ghost')];
    const { n } = await ghost.configs.current();
    await ghost.configs.uses(n);
    const text = JSON.stringify(marked('of a ghost'));
    await ghost.configs.propose(n, { text, revision: revisionOf(text), by: 'operator' });
    await house.instances.bury(ghost);
    const told = await a.put(marked('next'));
    assert.equal(told.kind, 'applied', JSON.stringify(told));
  });

  test('a start whose text is in use no more ends, and says to start again', async () => {
    await using house = await House.open();
    const a = await house.start('a');
    const cluster = clusterOf(await house.instances.join('late'));
    const late = await beginConfig(cluster, { text: JSON.stringify(marked('late')) });
    assert.ok(late?.kind === 'failed' && late.code === 'config_moved', JSON.stringify(late));
    assert.match(late.message, /start svc again/);
    assert.equal(await beginConfig(cluster, { text: JSON.stringify(sharedDocument()) }), null);
    assert.equal((await a.member.configs.look(null)).behind.length, 0);
    assert.equal(await beginConfig(createAlone(), { text: '{}' }), null);
  });

  test('who ends is not asked any more, and one that waits for others goes on', async () => {
    await using house = await House.open();
    const [a, b, c] = [await house.start('a'), await house.start('b'), await house.start('c')];
    await c.stop();
    assert.equal((await a.put(marked('next'))).kind, 'applied');
    const ghost = await house.instances.join('ghost');
    await ghost.configs.uses((await ghost.configs.current()).n);
    const waiting = a.put(marked('in vain'));
    await until('it is proposed', async () => (await ghost.configs.look(null)).open !== null);
    await a.stop();
    const told = await waiting;
    assert.equal(told.kind === 'refused' && told.code, 'rolled_back', JSON.stringify(told));
    assert.match(told.kind === 'refused' ? told.detail : '', /is stopping/);
    assert.equal((await ghost.configs.look(null)).open, null, 'it is withdrawn');
    await house.instances.bury(ghost);
    assert.equal((await b.put(marked('after'))).kind, 'applied');
  });

  test('a connection that is lost while it waits for others changes nothing', async () => {
    await using house = await House.open();
    const way = await Way.to(house.instances.url);
    await using _way = way;
    const a = await house.start('a', { url: way.url(house.instances.url) });
    const other = await house.instances.join('other');
    const { n } = await other.configs.current();
    await other.configs.uses(n);
    const waiting = a.put(marked('next'));
    const open = async () => (await other.configs.look(null)).open;
    await until('it is proposed', async () => (await open()) !== null);
    way.cut();
    const [before, proposal] = [way.begun, await open()];
    await until('it has connected again', () => way.begun > before);
    await other.configs.vote(proposal!.n, null);
    await other.configs.uses(n + 1);
    const told = await waiting;
    assert.equal(told.kind, 'applied', JSON.stringify(told));
  });

  test('without the server it is not saved; once it answers again all goes on', async () => {
    await using house = await House.open();
    const way = await Way.to(house.instances.url);
    await using _way = way;
    const a = await house.start('a', { url: way.url(house.instances.url) });
    const b = await house.start('b');
    await way.close();
    const told = await a.put(marked('next'));
    assert.equal(told.kind === 'refused' && told.code, 'not_saved', JSON.stringify(told));
    const history = await a.control.history();
    assert.equal('kind' in history && history.kind, 'fault');
    await way.open();
    assert.equal((await b.put(marked('next'))).kind, 'applied');
    await inUseAt(marked('next'), a, b);
    assert.equal((await a.put(marked('last'))).kind, 'applied');
  });
});
