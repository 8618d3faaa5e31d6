/** The trailing transaction of a batch, and its answers. */
import assert from 'node:assert/strict';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { never, write } from '../../../../test/fake/postgres/batch-callers.ts';
import { Marks, markStatement, type Mark } from '../../../../test/fake/postgres/marks.ts';
import type { TrailingTransaction } from './batches.ts';
import type { Rows } from './statement.ts';
import { until } from '../../../../test/support/waiting.ts';

/** Writes marks in the trailing transaction. */
class MarkTrailing implements TrailingTransaction {
  readonly told: (readonly unknown[] | null)[] = [];
  isOver = false;
  takes: boolean;
  #marks: Mark[] = [];

  constructor(takes: boolean) {
    this.takes = takes;
  }

  add(...marks: readonly Mark[]): void {
    this.#marks.push(...marks);
  }

  get withinMs(): number | null {
    return this.#marks.length > 0 ? 1 : null;
  }

  take() {
    const marks = this.#marks.splice(0);
    if (marks.length === 0) return { asked: [], takes: false };
    return { asked: [markStatement(marks)], takes: this.takes };
  }

  landed(answers: readonly Rows[] | null): void {
    if (answers?.length === 0) return;
    this.told.push(answers?.flat().map(({ mark }) => mark) ?? null);
  }

  end(): void {
    this.isOver = true;
  }
}

postgresTest('what is to be taken goes behind the next batch, and one goes for it', async () => {
  await using marks = await Marks.open();
  const trailing = new MarkTrailing(true);
  const batches = await marks.batches({ times: never, trailing });
  trailing.add(1);
  assert.equal(await write(batches, 2), true);
  assert.deepEqual(await marks.written(), [2, 1], 'behind it');
  trailing.add(3);
  batches.trailingSoon();
  await until('it is told', () => trailing.told.length === 2);
  assert.deepEqual(trailing.told, [[1], [3]]);
  assert.equal((await marks.instance(1))['grp'], 2);
});

postgresTest('what only lets go needs no batch, as long as one has landed lately', async () => {
  await using marks = await Marks.open();
  const trailing = new MarkTrailing(false);
  const batches = await marks.batches({ times: never, trailing });
  assert.equal(await write(batches, 1), true);
  trailing.add(2);
  batches.trailingSoon();
  await until('it is told', () => trailing.told.length === 1);
  assert.equal((await marks.instance(1))['grp'], 1);
  assert.deepEqual(await marks.written(), [1, 2]);
});

postgresTest('behind a batch that the server undoes nothing is taken', async () => {
  await using marks = await Marks.open();
  const trailing = new MarkTrailing(true);
  const batches = await marks.batches({ times: never, trailing });
  await write(batches, 1);
  // The server refuses the batch alone; it would accept the trailing transaction.
  await marks.client.query(`
    CREATE FUNCTION refuse_two() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN IF NEW.mark = 2 THEN RAISE 'refused' USING ERRCODE = '40P01'; END IF;
    RETURN NEW; END$$;
    CREATE TRIGGER refuse_two BEFORE INSERT ON mark FOR EACH ROW EXECUTE FUNCTION refuse_two()`);
  trailing.add(3);
  const second = write(batches, 2);
  await until('that is told', () => trailing.told.length > 0);
  assert.ok(trailing.told.every((one) => one === null));
  assert.deepEqual(await marks.written(), [1]);
  await marks.client.query('DROP TRIGGER refuse_two ON mark');
  assert.equal(await second, true);
});

postgresTest('one that is declared dead right behind its batch takes nothing', async () => {
  await using marks = await Marks.open();
  const instance = await marks.take();
  const writer = await marks.writer({ instance });
  const dies = { text: 'UPDATE svc.instance SET dead = true', values: [] };
  const outcome = await writer.writeBatch([dies], { asked: [markStatement([1])], takes: true });
  assert.ok(outcome.kind === 'landed', outcome.kind);
  assert.equal(outcome.behind, null);
  assert.deepEqual(await marks.written(), []);
});

postgresTest('a fault behind a batch is none of the batch', async () => {
  await using marks = await Marks.open();
  const trailing = new MarkTrailing(true);
  const batches = await marks.batches({ times: never, trailing });
  trailing.add(1, 1);
  await marks.client.query('ALTER TABLE mark ADD UNIQUE (mark)');
  assert.equal(await write(batches, 2), true);
  assert.deepEqual(trailing.told, [null]);
  assert.deepEqual(await marks.written(), [2]);
  assert.equal(batches.broken, false);
});

postgresTest('where its answer is lost it is not known whether it has landed', async () => {
  await using marks = await Marks.open();
  const trailing = new MarkTrailing(true);
  const batches = await marks.batches({ times: never, trailing });
  await write(batches, 1);
  const client = await marks.another();
  await client.query('BEGIN; LOCK TABLE mark IN ACCESS EXCLUSIVE MODE');
  trailing.add(3);
  const second = write(batches, 2);
  await until('the flight waits at the server', async () => (await marks.waiting()) === 1);
  marks.way.hold();
  await client.query('COMMIT');
  await until('both have landed', async () => (await marks.written()).length === 3);
  marks.way.cut();
  marks.way.release();
  assert.equal(await second, true);
  await until('it is told', () => trailing.told.length === 1);
  assert.deepEqual(trailing.told, [null]);
  assert.deepEqual(await marks.written(), [1, 2, 3]);
});

for (const how of ['ends', 'is fenced'] as const) {
  postgresTest(`when nothing goes any more since it ${how}, that is told`, async () => {
    await using marks = await Marks.open();
    const trailing = new MarkTrailing(true);
    const batches = await marks.batches({ times: never, trailing });
    assert.equal(await write(batches, 1), true);
    assert.equal(trailing.isOver, false);
    if (how === 'ends') batches.abandon();
    else {
      await marks.client.query('UPDATE svc.instance SET dead = true');
      assert.equal(await write(batches, 2), false);
    }
    assert.equal(trailing.isOver, true);
  });
}
