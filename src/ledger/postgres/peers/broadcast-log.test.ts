import assert from 'node:assert/strict';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { heartbeats, TestInstances } from '../../../../test/fake/postgres/instances.ts';
import { turns } from '../../../../test/contract/ledger/kit.ts';
import { until } from '../../../../test/support/waiting.ts';

/** Whether the promise is settled once two more heartbeats of that instance have landed. */
async function isOver(it: Promise<void>, one: Parameters<typeof heartbeats>[0]): Promise<boolean> {
  let over = false;
  void it.then(() => (over = true));
  await heartbeats(one, 2);
  return over;
}

postgresTest('what one tells reaches all before it is over', async () => {
  await using all = await TestInstances.open();
  const three = await all.beginAll(3);
  const heard: string[] = [];
  for (const { id, peers } of three)
    peers.onBroadcast('a', (body) => void heard.push(`${id}: ${body}`));
  await three[1]!.peers.broadcast('a', 'one\0');
  assert.deepEqual(heard.toSorted(), ['1: one\0', '2: one\0', '3: one\0']);
});

postgresTest('it waits for one that takes its time to act on it', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  const begun = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  other!.peers.onBroadcast('a', () => {
    begun.resolve();
    return done.promise;
  });
  const told = one!.peers.broadcast('a', '');
  await begun.promise;
  assert.equal(await isOver(told, one!.peers), false);
  assert.equal(await isOver(one!.peers.broadcast('b', ''), one!.peers), false, 'in order');
  done.resolve();
  await told;
});

postgresTest('who has acted on it says so at once', async () => {
  await using all = await TestInstances.open();
  const rarely = { heartbeatMs: 1e6, deadMs: 1e6, holdMs: 1e6 };
  const one = await all.begin({ ...rarely, heartbeatMs: 50 });
  const other = await all.begin(rarely);
  await heartbeats(other.peers, 1);
  const told = one.peers.broadcast('a', '');
  await until('it is on the board', async () => {
    const { rows } = await all.client.query('SELECT n FROM svc.board');
    return rows.length === 1;
  });
  other.peers.heartbeat.sendNow();
  await told;
});

postgresTest('all hear all in one order, one after the other', async () => {
  await using all = await TestInstances.open();
  const three = await all.beginAll(3);
  const heard = three.map(({ peers }) => {
    const own: string[] = [];
    let busy = false;
    peers.onBroadcast('a', async (body) => {
      assert.equal(busy, false);
      busy = true;
      await new Promise(setImmediate);
      busy = false;
      own.push(body);
    });
    return own;
  });
  const bodies = Array.from({ length: 60 }, (_, at) => `${at % 3} ${at}`);
  await Promise.all(bodies.map((body, at) => three[at % 3]!.peers.broadcast('a', body)));
  assert.deepEqual(heard[0]!.toSorted(), bodies.toSorted());
  assert.deepEqual(heard[1], heard[0]);
  assert.deepEqual(heard[2], heard[0]);
  for (const which of ['0', '1', '2']) {
    const own = heard[0]!.filter((body) => body.startsWith(which));
    assert.deepEqual(
      own,
      bodies.filter((body) => body.startsWith(which)),
    );
  }
});

postgresTest('more than one heartbeat reads is heard all the same', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  let count = 0;
  other!.peers.onBroadcast('a', () => void count++);
  await Promise.all(Array.from({ length: 250 }, () => one!.peers.broadcast('a', '')));
  assert.equal(count, 250);
});

postgresTest('cut again and again, each instance hears each body once and in order', async () => {
  await using all = await TestInstances.open();
  const two = await all.beginAll(2);
  const heard = two.map(({ peers }) => {
    const own: string[] = [];
    peers.onBroadcast('a', (body) => void own.push(body));
    return own;
  });
  for (let at = 0; at < 40; at++) {
    const told = two.map(({ peers }, which) => peers.broadcast('a', `${which} ${at}`));
    if (at % 3 === 0) await new Promise(setImmediate);
    await turns((at % 4) * 40);
    two[at % 2]!.way.cut();
    await Promise.all(told);
  }
  assert.equal(heard[0]!.length, 80);
  assert.equal(new Set(heard[0]).size, 80);
  assert.deepEqual(heard[1], heard[0]);
});

postgresTest('one that dies holds up nobody for ever', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  other!.kill();
  const told = one!.peers.broadcast('a', '');
  assert.equal(await isOver(told, one!.peers), false, 'it may live');
  await all.passUntilDead(one!);
  await told;
  assert.equal((await all.instance(other!.id))['dead'], true);
});

postgresTest('what was told before it began is not for it', async () => {
  await using all = await TestInstances.open();
  const one = await all.begin();
  await one.peers.broadcast('a', 'early');
  const other = await all.begin();
  const heard: string[] = [];
  other.peers.onBroadcast('a', (body) => void heard.push(body));
  await one.peers.broadcast('a', 'late');
  assert.deepEqual(heard, ['late']);
});

postgresTest('whoever waits to be heard waits no longer when this instance ends', async () => {
  for (const how of ['close', 'kill'] as const) {
    await using all = await TestInstances.open();
    const one = await all.begin();
    one.peers.onBroadcast('a', () => new Promise(() => {}));
    const told = one.peers.broadcast('a', '');
    await heartbeats(one.peers, 2);
    await one[how]();
    await told;
    await one.peers.broadcast('a', 'nobody writes this any more');
  }
});

postgresTest('a row is put away when it is old, and all have acted on it', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  const done = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  await one!.peers.broadcast('a', '');
  other!.peers.onBroadcast('b', () => {
    begun.resolve();
    return done.promise;
  });
  const told = one!.peers.broadcast('b', '');
  await begun.promise;
  await all.client.query("UPDATE svc.board SET at = at - interval '2 hours'");
  const kinds = async (): Promise<unknown> => {
    const { rows } = await all.client.query<{ kind: string }>('SELECT kind FROM svc.board');
    return rows.map(({ kind }) => kind);
  };
  await all.begin();
  assert.deepEqual(await kinds(), ['b']);
  done.resolve();
  await told;
  await all.begin();
  assert.deepEqual(await kinds(), []);
  let heard = 0;
  other!.peers.onBroadcast('c', () => void heard++);
  await until('all are there', () => one!.peers.limitShare() === 4);
  await one!.peers.broadcast('c', 'its numbers go on');
  assert.equal(heard, 1);
});
