/** The shared configuration: which one is current, and how instances agree on another. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { noPostgres } from '../../../../test/fake/postgres.ts';
import { Instances, type Member } from '../../../../test/fake/postgres/config-members.ts';
import { noPgBouncer, startPgBouncer } from '../../../../test/fake/postgres/pgbouncer.ts';
import { Way } from '../../../../test/fake/postgres/way.ts';
import { ConfigsFailed, type ClosedWhy, type SharedConfigs } from '../../../cluster/backend.ts';
import { readConfigAt } from './shared-configs.ts';
import { patienceMs } from '../../../../test/support/waiting.ts';

const written = (revision: string, text = `{"of":"${revision}"}`) => ({
  revision,
  text,
  by: 'start',
});
const n = async (configs: SharedConfigs): Promise<number> => (await configs.current()).n;

/** Two instances that use the first configuration, and vote on others. */
async function two(instances: Instances, silentMs?: number): Promise<[Member, Member]> {
  const options = silentMs === undefined ? {} : { silentMs };
  const [a, b] = [await instances.join('web-1', options), await instances.join('web-2', options)];
  const first = await a.configs.begin(written('r1'));
  for (const one of [a, b]) await one.configs.uses(first.n);
  return [a, b];
}

async function proposed(by: Member, revision: string): Promise<number> {
  const base = await n(by.configs);
  const answer = await by.configs.propose(base, { ...written(revision), by: 'operator' });
  assert.ok(answer.kind === 'proposed', answer.kind);
  return answer.n;
}

const failed = (reason: ConfigsFailed['reason']) => (error: unknown) =>
  error instanceof ConfigsFailed && error.reason === reason;

suite('the shared configuration', { skip: noPostgres }, () => {
  test('the first of several that start gives the first text, and all have that one', async () => {
    await using instances = await Instances.open();
    const all = await Promise.all(['a', 'b', 'c'].map((host) => instances.join(host)));
    const begun = await Promise.all(all.map(({ configs }, at) => configs.begin(written(`r${at}`))));
    assert.equal(new Set(begun.map((one) => JSON.stringify(one))).size, 1);
    const [{ revision, text }] = begun as [(typeof begun)[number]];
    assert.equal(text, `{"of":"${revision}"}`);
    assert.ok(Math.abs(begun[0]!.at - Date.now()) < patienceMs);
  });

  test('it comes into use when all have said yes, and not before', async () => {
    await using instances = await Instances.open();
    const [a, b] = await two(instances);
    const proposal = await proposed(a, 'r2');
    const open = await a.configs.decide(proposal);
    assert.deepEqual(open, {
      kind: 'open',
      missing: [{ id: b.id, host: 'web-2', version: '1.2.3' }],
    });
    const seen = await b.configs.look(null);
    assert.equal(seen.open?.n, proposal);
    assert.deepEqual(seen.open?.by, { id: a.id, host: 'web-1', version: '1.2.3' });
    assert.equal(seen.open?.isOrphan, false);
    assert.equal((await b.configs.proposal(proposal))?.text, '{"of":"r2"}');
    assert.equal((await a.configs.current()).revision, 'r1');
    await b.configs.vote(proposal, null);
    const used = await a.configs.decide(proposal);
    const current = await b.configs.current();
    assert.deepEqual(used, { kind: 'used', n: current.n });
    assert.equal(current.revision, 'r2');
    assert.deepEqual(await a.configs.decide(proposal), used, 'it stays decided');
    const after = await b.configs.look(proposal);
    assert.deepEqual([after.end, after.open, after.current], [used, null, current.n]);
  });

  test('one no is enough, with the name of who said it and why', async () => {
    await using instances = await Instances.open();
    const [a, b] = await two(instances);
    const c = await instances.join('web-3');
    await c.configs.uses(await n(c.configs));
    const proposal = await proposed(a, 'r2');
    const detail = 'BOT is not set, \uE000 and \0.';
    await b.configs.vote(proposal, { code: 'secret_missing', detail });
    await b.configs.vote(proposal, null);
    const instance = { id: b.id, host: 'web-2', version: '1.2.3' };
    const end = { kind: 'refused', refusals: [{ instance, code: 'secret_missing', detail }] };
    assert.deepEqual(await a.configs.decide(proposal), end);
    assert.deepEqual((await c.configs.look(proposal)).end, end);
    assert.equal((await a.configs.current()).revision, 'r1');
  });

  test('silence counts as no, when it has lasted long enough', async () => {
    await using instances = await Instances.open();
    const [a, b] = await two(instances, 60_000);
    const proposal = await proposed(a, 'r2');
    assert.equal((await a.configs.decide(proposal)).kind, 'open');
    await instances.client.query("UPDATE svc.proposal SET at = at - interval '61 s'");
    const decided = await a.configs.decide(proposal);
    assert.ok(decided.kind === 'refused');
    const [refusal] = decided.refusals;
    assert.deepEqual([refusal?.instance.id, refusal?.code], [b.id, 'silent']);
    assert.match(refusal!.detail, /within 60 s/);
  });

  test('who is dead, has none in use yet, or ends, is not asked', async () => {
    await using instances = await Instances.open();
    const [a, b] = await two(instances);
    const starting = await instances.join('starting');
    await starting.configs.begin(written('another file'));
    const ending = await instances.join('ending');
    await ending.configs.uses(await n(a.configs));
    await ending.configs.uses(null);
    const proposal = await proposed(a, 'r2');
    assert.equal((await a.configs.decide(proposal)).kind, 'open');
    await instances.bury(b);
    assert.equal((await a.configs.decide(proposal)).kind, 'used');
  });

  test('who comes while a proposal is open is asked, too', async () => {
    await using instances = await Instances.open();
    const [a, b] = await two(instances);
    const proposal = await proposed(a, 'r2');
    await b.configs.vote(proposal, null);
    const late = await instances.join('late');
    await late.configs.begin(written('r1'));
    const decided = await a.configs.decide(proposal);
    assert.deepEqual(decided.kind === 'open' && decided.missing.map(({ id }) => id), [late.id]);
  });

  test('one proposal is open at a time, and follows what is in use', async () => {
    await using instances = await Instances.open();
    const [a, b] = await two(instances);
    const base = await n(a.configs);
    const both = await Promise.all(
      [a, b].map(({ configs }) => configs.propose(base, written(`of ${configs.instance}`))),
    );
    assert.deepEqual(both.map(({ kind }) => kind).toSorted(), ['busy', 'proposed']);
    const [winner, loser] = both[0]!.kind === 'proposed' ? [a, b] : [b, a];
    const won = both.find(({ kind }) => kind === 'proposed') as { n: number };
    await loser.configs.vote(won.n, null);
    assert.equal((await winner.configs.decide(won.n)).kind, 'used');
    assert.deepEqual(await loser.configs.propose(base, written('late')), { kind: 'moved' });
  });

  test('what nobody decides is closed, and what was decided stays', async () => {
    await using instances = await Instances.open();
    const [a, b] = await two(instances);
    const left = await proposed(a, 'r2');
    await instances.bury(a);
    assert.equal((await b.configs.look(null)).open?.isOrphan, true);
    await b.configs.close(left, 'late');
    assert.deepEqual((await b.configs.look(left)).end, { kind: 'closed', why: 'late' });
    const own = await proposed(b, 'r3');
    const used = await b.configs.decide(own);
    assert.equal(used.kind, 'used');
    await b.configs.close(own, 'withdrawn' satisfies ClosedWhy);
    assert.deepEqual((await b.configs.look(own)).end, used);
    await instances.client.query('UPDATE svc.instance SET dead = false WHERE id = $1', [a.id]);
    const old = await proposed(b, 'r4');
    await instances.client.query("UPDATE svc.proposal SET at = at - interval '1 h'");
    assert.equal((await a.configs.look(null)).open?.isOrphan, true, 'it is far too old');
    await a.configs.close(old, 'late');
    assert.deepEqual(await b.configs.decide(old), { kind: 'closed', why: 'late' });
  });

  test('an instance that counts as dead changes nothing', async () => {
    await using instances = await Instances.open();
    const [a, b] = await two(instances);
    const [base, open] = [await n(a.configs), await proposed(b, 'r2')];
    await instances.bury(a);
    const { configs } = a;
    await assert.rejects(configs.propose(base, written('x')), failed('dead'));
    await assert.rejects(configs.vote(open, null), failed('dead'));
    await assert.rejects(configs.close(open, 'late'), failed('dead'));
    await assert.rejects(configs.uses(base), failed('dead'));
    await assert.rejects(configs.replace(written('x')), failed('dead'));
    await assert.rejects(configs.decide(open), failed('dead'));
    assert.equal((await b.configs.look(open)).end, null);
    assert.equal((await b.configs.current()).revision, 'r1');
    assert.equal((await b.configs.decide(open)).kind, 'used', 'and takes part in nothing');
  });

  test('others that live and use an older one are told', async () => {
    await using instances = await Instances.open();
    const [a, b] = await two(instances);
    await a.configs.replace(written('r2'));
    await a.configs.uses(await n(a.configs));
    const { behind, ageMs } = await a.configs.look(null);
    assert.deepEqual(behind, [{ id: b.id, host: 'web-2', version: '1.2.3' }]);
    assert.ok(ageMs >= 0);
    await b.configs.uses(await n(a.configs));
    assert.deepEqual((await a.configs.look(null)).behind, []);
  });

  test('the newest hundred are kept, any text as it was, each revision once', async () => {
    await using instances = await Instances.open();
    const [{ configs }] = await two(instances);
    const odd = '{"a":"\uE000 \\u0000 😀"}\n\0\uD800';
    for (const one of [
      written('odd', odd),
      ...Array.from({ length: 97 }, (_, i) => written(`q${i}`)),
    ])
      await configs.replace(one);
    assert.equal((await configs.kept('odd'))?.text, odd);
    assert.equal((await configs.kept('r1'))?.text, '{"of":"r1"}');
    await configs.replace(written('odd', odd));
    await configs.replace(written('last'));
    assert.equal(await configs.kept('r1'), null, 'it is the hundred and first');
    const rows = await configs.history();
    assert.deepEqual(
      rows.slice(0, 3).map(({ revision }) => revision),
      ['last', 'odd', 'q96'],
    );
    assert.equal(rows.length, 99);
    assert.equal(rows[0]!.bytes, '{"of":"last"}'.length);
    assert.deepEqual(
      rows.toSorted((x, y) => y.n - x.n),
      rows,
    );
  });

  test('a connection that was lost is opened anew; without a server it is told', async () => {
    await using instances = await Instances.open();
    const way = await Way.to(instances.url);
    await using _way = way;
    const { configs } = await instances.join('web-1', { url: way.url(instances.url) });
    await configs.begin(written('r1'));
    way.cut();
    assert.equal((await configs.current()).revision, 'r1');
    await way.close();
    await assert.rejects(configs.current(), failed('away'));
    await way.open();
    assert.equal((await configs.current()).revision, 'r1');
  });

  test(
    'it works behind a pooler, by which each transaction may have another connection',
    {
      skip: noPgBouncer,
    },
    async () => {
      await using instances = await Instances.open();
      await using pooler = await startPgBouncer(instances.url);
      const url = pooler.url(instances.url);
      const [a, b] = [
        await instances.join('web-1', { url }),
        await instances.join('web-2', { url }),
      ];
      await Promise.all([a, b].map(({ configs }) => configs.begin(written('r1'))));
      const proposal = await proposed(a, 'r2');
      await Promise.all([b.configs.vote(proposal, null), a.configs.look(proposal)]);
      assert.equal((await a.configs.decide(proposal)).kind, 'used');
      assert.equal((await b.configs.current()).revision, 'r2');
    },
  );

  test('it is read where no svc runs; where there is none, or no table, that is told', async () => {
    await using instances = await Instances.open();
    assert.equal(await readConfigAt(instances.url), null);
    const { configs } = await instances.join('web-1');
    await configs.begin(written('r1'));
    await configs.replace(written('r2'));
    const now = await readConfigAt(instances.url);
    assert.deepEqual(now, await configs.current());
    assert.deepEqual(
      await readConfigAt(instances.url, { revision: 'r1' }),
      await configs.kept('r1'),
    );
    assert.equal(await readConfigAt(instances.url, { revision: 'r9' }), null);
    await instances.client.query('DROP TABLE svc.config');
    assert.equal(await readConfigAt(instances.url), null);
  });
});
