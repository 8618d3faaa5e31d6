import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { untilTrue } from '../../../../test/chaos/outside.ts';
import { seeded } from '../../../../test/chaos/proof.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { Marks, type Mark, type MarkFlights } from '../../../../test/fake/postgres/marks.ts';
import { steadyNow, type SteadyTime } from '../../../lib/clock.ts';

const never = { beatMs: 1e6 };

/** What callers were told, in order. */
class Told {
  readonly all: string[] = [];

  write(flights: MarkFlights, mark: Mark): void {
    flights.add(mark);
    flights.flush((places) => this.#landed(mark, places !== null));
  }

  tryTo(flights: MarkFlights, mark: Mark): void {
    flights.add(mark);
    flights.flush(
      (places) => this.#landed(mark, places !== null),
      () => this.all.push(`${mark} refused`),
    );
  }

  has(...all: readonly string[]): boolean {
    return all.every((one) => this.all.includes(one));
  }

  #landed(mark: Mark, has: boolean): void {
    this.all.push(`${mark} ${has ? 'landed' : 'lost'}`);
  }
}

function write(flights: MarkFlights, mark: Mark): Promise<boolean> {
  flights.add(mark);
  return flights.written((places) => assert.ok(places.has(mark)));
}

/** What `onChange` tells, and what is so just then. */
function newsOf(flights: MarkFlights): readonly string[] {
  const news: string[] = [];
  flights.onChange(() => news.push(`${flights.state}, ${flights.mayHandOut ? 'open' : 'held'}`));
  return news;
}

postgresTest(
  'what is written while a flight is under way goes together with the next',
  async () => {
    await using marks = await Marks.open();
    const flights = await marks.flights({ times: never });
    const first = write(flights, 1);
    await new Promise(setImmediate);
    const others = Promise.all([2, 3, 4].map((mark) => write(flights, mark)));
    assert.equal(flights.pending, 4);
    assert.equal(await first, true);
    assert.equal(flights.pending, 3);
    assert.deepEqual(await others, [true, true, true]);
    assert.equal(flights.pending, 0);
    assert.deepEqual(await marks.written(), [1, 2, 3, 4]);
    assert.equal((await marks.instance(1))['grp'], 2);
  },
);

postgresTest('a write that nobody waits for goes with the one after it', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: never });
  flights.add(1);
  flights.flushSoon(() => {});
  await write(flights, 2);
  assert.equal((await marks.instance(1))['grp'], 1);
  flights.add(3);
  await new Promise((resolve) => flights.flushSoon(resolve));
  assert.deepEqual(await marks.written(), [1, 2, 3]);
});

postgresTest('more than fits into one flight goes in several, in order', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: never });
  const each = 6_000;
  const asked = [0, 1, 2, 3].map((caller) => {
    const own = Array.from({ length: each }, (_, at) => caller * each + at);
    for (const mark of own) flights.add(mark);
    return flights.written((places) => assert.ok(own.every((mark) => places.has(mark))));
  });
  assert.deepEqual(await Promise.all(asked), [true, true, true, true]);
  assert.deepEqual(
    await marks.written(),
    Array.from({ length: 4 * each }, (_, at) => at),
  );
  assert.equal((await marks.instance(1))['grp'], 4);
});

const cuts = 200;
const callers = 8;

postgresTest(`cut ${cuts} times at any moment, each write lands once and in order`, async () => {
  const seed = Math.floor(Math.random() * 1e6);
  const random = seeded(seed);
  await using marks = await Marks.open();
  const flights = await marks.flights();
  const over = new AbortController();
  let next = Promise.withResolvers<void>();
  const asked: Mark[] = [];
  const caller = async (which: number): Promise<void> => {
    for (let at = 0; !over.signal.aborted; at++) {
      const mark = which * 100_000 + at;
      asked.push(mark);
      assert.equal(await write(flights, mark), true);
      next.resolve();
    }
  };
  const callersEnd = Promise.all(Array.from({ length: callers }, (_, which) => caller(which)));
  for (let cut = 0; cut < cuts; cut++) {
    // Some while it connects or asks for what became of the last one, most while it writes.
    if (random() < 0.9) await next.promise;
    next = Promise.withResolvers();
    await pause(random() * 8);
    marks.way.cut();
  }
  over.abort();
  await callersEnd;
  const written = await marks.written();
  const told = `seed ${seed}`;
  const inOrder = (one: Mark, other: Mark): number => one - other;
  assert.deepEqual(written.toSorted(inOrder), asked.toSorted(inOrder), told);
  for (let which = 0; which < callers; which++) {
    const own = written.filter((mark) => Math.floor(mark / 100_000) === which);
    assert.deepEqual(own, own.toSorted(inOrder), told);
  }
  assert.ok(asked.length > cuts, `${asked.length}, ${told}`);
});

postgresTest('while the server is away those are refused who can be, all others wait', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: { ...never, awayMs: 100 } });
  const news = newsOf(flights);
  const told = new Told();
  await marks.way.close();
  told.tryTo(flights, 1);
  told.write(flights, 2);
  // The flight of these two is under way.
  await new Promise((resolve) => setTimeout(resolve));
  told.write(flights, 3);
  told.tryTo(flights, 4);
  assert.equal(flights.state, 'ok');
  await untilTrue('it is away', () => flights.state === 'away');
  assert.deepEqual(told.all, ['1 refused', '4 refused']);
  assert.equal(flights.pending, 3);
  told.tryTo(flights, 5);
  assert.deepEqual(told.all, ['1 refused', '4 refused', '5 refused']);
  assert.equal(await flights.writtenNow(), false);
  told.write(flights, 6);
  await marks.way.open();
  await untilTrue('the rest lands', () => flights.pending === 0);
  assert.deepEqual(told.all.slice(3), ['2 landed', '3 landed', '6 landed']);
  assert.deepEqual(await marks.written(), [2, 3, 6]);
  assert.deepEqual(news, ['away, open', 'ok, open']);
  told.tryTo(flights, 7);
  await untilTrue('it takes more', () => told.has('7 landed'));
});

postgresTest('one that was refused in a flight that landed all the same is told so', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: { ...never, awayMs: 100 } });
  const told = new Told();
  const other = await marks.another();
  await other.query('BEGIN; LOCK TABLE mark IN ACCESS EXCLUSIVE MODE');
  told.tryTo(flights, 1);
  await untilTrue('the flight waits at the server', async () => (await marks.waiting()) === 1);
  marks.way.hold();
  await other.query('COMMIT');
  await untilTrue('it is refused', () => told.has('1 refused'));
  marks.way.cut();
  marks.way.release();
  await untilTrue('it has landed', () => told.has('1 landed'));
  assert.deepEqual(told.all, ['1 refused', '1 landed']);
  assert.deepEqual(await marks.written(), [1]);
});

postgresTest('a server that holds its answers back for a while loses none', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: { awayMs: 60 }, answerMs: 120 });
  const told = new Told();
  let mark = 0;
  for (let hold = 0; hold < 5; hold++) {
    const least = told.all.length + 3;
    for (const _ of [1, 2, 3]) told.write(flights, ++mark);
    marks.way.hold();
    for (const _ of [1, 2, 3]) told.write(flights, ++mark);
    await untilTrue('it is away', () => flights.state === 'away');
    marks.way.release();
    await untilTrue('some land', () => told.all.length >= least);
  }
  await untilTrue('all land', () => flights.pending === 0);
  const all = Array.from({ length: mark }, (_, at) => at + 1);
  assert.deepEqual(
    told.all,
    all.map((one) => `${one} landed`),
  );
  assert.deepEqual(await marks.written(), all);
});

postgresTest('a full disk refuses who can be refused, and keeps the others in order', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: { ...never, awayMs: 300 } });
  const news = newsOf(flights);
  const told = new Told();
  await marks.refuse('53100');
  told.tryTo(flights, 1);
  told.write(flights, 2);
  await untilTrue('it is full', () => flights.state === 'full');
  told.write(flights, 3);
  told.tryTo(flights, 4);
  assert.deepEqual(told.all, ['1 refused', '4 refused']);
  // Longer than it takes to be away: the server answers, so it is not.
  await pause(400);
  await marks.letIn();
  await untilTrue('the rest lands', () => flights.pending === 0);
  assert.deepEqual(told.all.slice(2), ['2 landed', '3 landed']);
  assert.deepEqual(await marks.written(), [2, 3]);
  assert.deepEqual(news, ['full, open', 'ok, open']);
  await write(flights, 5);
  const { rows } = await marks.client.query('SELECT 1 FROM svc.cursor');
  assert.deepEqual(rows, [], 'the room that was taken is given back');
});

postgresTest('a disk that has room for a word alone is full', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: never });
  await marks.refuse('53100');
  const waits = write(flights, 1);
  await untilTrue('it is full', () => flights.state === 'full');
  await marks.client.query(`
    CREATE TRIGGER refuse BEFORE INSERT ON svc.cursor FOR EACH ROW
    WHEN (length(NEW.value) > 65000) EXECUTE FUNCTION refuse()`);
  await marks.letIn();
  const { grp } = await marks.instance(1);
  await untilTrue('the next try has failed as well', async () => {
    const { rows } = await marks.client.query<{ n: number }>(
      'SELECT xact_rollback AS n FROM pg_stat_database WHERE datname = current_database()',
    );
    return rows[0]!.n > 1;
  });
  assert.equal(flights.state, 'full');
  assert.equal((await marks.instance(1))['grp'], grp);
  await marks.client.query('DROP TRIGGER refuse ON svc.cursor');
  assert.equal(await waits, true);
});

postgresTest('a flight that is undone again and again keeps its place, and lands', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: never });
  await marks.refuse('40P01');
  const first = write(flights, 1);
  await new Promise((resolve) => setTimeout(resolve));
  const second = write(flights, 2);
  await pause(100);
  await marks.letIn();
  assert.deepEqual(await Promise.all([first, second]), [true, true]);
  assert.deepEqual(await marks.written(), [1, 2]);
});

postgresTest('a flight that the server undoes for too long fails for good', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: { ...never, undoneMs: 200 } });
  const broken = Promise.withResolvers<Error>();
  flights.onBroken(broken.resolve);
  await marks.refuse('40P01');
  assert.equal(await write(flights, 1), false);
  assert.match((await broken.promise).message, /refused/);
  assert.equal(await write(flights, 2), false);
  assert.deepEqual(await marks.written(), []);
});

postgresTest('where nothing is written, empty flights beat', async () => {
  await using marks = await Marks.open();
  await marks.flights({ times: { beatMs: 20 } });
  const { beat: began } = await marks.instance(1);
  await untilTrue('it has beaten', async () => {
    const { grp, beat } = await marks.instance(1);
    return Number(grp) >= 3 && String(beat) > String(began);
  });
});

postgresTest('nothing is handed out when the last landed flight began too long ago', async () => {
  await using marks = await Marks.open();
  let now = 0;
  const steady = (): SteadyTime => now as SteadyTime;
  const flights = await marks.flights({ steady, times: { ...never, holdMs: 7_000 } });
  const news = newsOf(flights);
  now = 7_000;
  assert.equal(flights.mayHandOut, true);
  now = 7_001;
  assert.equal(flights.mayHandOut, false);
  await write(flights, 1);
  assert.equal(flights.mayHandOut, true);
  assert.deepEqual(news, ['ok, open']);
  // It counts from when it was sent, since that is the earliest moment of the beat.
  const other = await marks.another();
  await other.query('BEGIN; LOCK TABLE mark IN ACCESS EXCLUSIVE MODE');
  const flown = write(flights, 2);
  await untilTrue('the flight waits at the server', async () => (await marks.waiting()) === 1);
  now += 7_001;
  await other.query('COMMIT');
  await flown;
  assert.equal(flights.mayHandOut, false);
});

postgresTest('a flight after another instance took over ends all of them', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: { beatMs: 20 } });
  const broken = Promise.withResolvers<Error>();
  flights.onBroken(broken.resolve);
  assert.equal(await write(flights, 1), true);
  await marks.take();
  assert.match((await broken.promise).message, /another instance of svc has taken over/);
  assert.equal(flights.broken, true);
  assert.equal(flights.mayHandOut, false);
  assert.equal(await write(flights, 2), false);
  assert.equal(await flights.writtenNow(), false);
  assert.deepEqual(await marks.written(), [1]);
  await flights.close();
});

postgresTest(
  'a close writes what is left, also what comes in answer, and notes its end',
  async () => {
    await using marks = await Marks.open();
    const flights = await marks.flights({ times: never });
    const answered = write(flights, 1).then(() => write(flights, 2));
    flights.add(3);
    flights.flushSoon(() => {});
    await flights.close();
    assert.equal(await answered, true);
    assert.deepEqual(
      (await marks.written()).toSorted((a, b) => a - b),
      [1, 2, 3],
    );
    const { dead, ended } = await marks.instance(1);
    assert.deepEqual([dead, ended], [true, '{"clean":true}']);
    assert.equal(await write(flights, 4), false);
    await untilTrue('its connection ends', async () => (await marks.others()) === 0);
  },
);

for (const how of ['close', 'hold'] as const) {
  postgresTest(`a close while the server is away ends in time (${how})`, async () => {
    await using marks = await Marks.open();
    const flights = await marks.flights({ times: { ...never, closeMs: 200 } });
    await marks.way[how]();
    const told = new Told();
    told.write(flights, 1);
    told.tryTo(flights, 2);
    const startedAt = steadyNow();
    await flights.close();
    assert.ok(steadyNow() - startedAt < 2_000);
    assert.deepEqual(told.all, ['1 lost', '2 lost']);
    marks.way.release();
    const { dead, ended } = await marks.instance(1);
    assert.deepEqual([dead, ended], [false, null], 'the next start finds it as after a crash');
  });
}

postgresTest('one that is abandoned ends at once, and says nothing', async () => {
  await using marks = await Marks.open();
  const flights = await marks.flights({ times: never });
  flights.onBroken((error) => assert.fail(error));
  const told = new Told();
  told.write(flights, 1);
  flights.abandon();
  assert.deepEqual(told.all, ['1 lost']);
  await untilTrue('its connection ends', async () => (await marks.others()) === 0);
  const { dead, ended } = await marks.instance(1);
  assert.deepEqual([dead, ended], [false, null]);
  assert.deepEqual(await marks.written(), []);
});
