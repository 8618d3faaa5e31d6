import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeliveryTries } from './delivery-meters.ts';
import { failure } from '../domain/failure.ts';
import type { SteadyTime } from '../lib/clock.ts';

const began = 1_000_000;

/** Delivery attempts at times in milliseconds since the first read. */
class Tries {
  readonly #tries = new DeliveryTries();

  arrive(atMs: number): void {
    this.#tries.arrived(time(atMs));
  }

  begin(atMs: number): void {
    this.#tries.began(time(atMs));
  }

  end(atMs: number): void {
    this.#tries.ended(time(atMs));
  }

  fail(atMs: number, status = 500): void {
    this.#tries.failed(failure('server_error', { status }), began + atMs, time(atMs));
  }

  /** @param isAgain an earlier try of the same reply was refused, too */
  refuse(atMs: number, isAgain = false): void {
    const tried = { ...failure('rejected', { status: 422 }), isAgain };
    this.#tries.failed(tried, began + atMs, time(atMs));
  }

  someArrive(atMs: number): boolean {
    return this.at(atMs).someArrive;
  }

  at(atMs: number) {
    return this.#tries.read(began + atMs, time(atMs));
  }

  failingSince(atMs: number): number | null {
    const { failingSince } = this.at(atMs);
    return failingSince === null ? null : failingSince - began;
  }
}

const time = (ms: number): SteadyTime => (ms + 50_000) as SteadyTime;

test('a receiver that takes no reply fails within seconds, since its first failure', () => {
  const tries = new Tries();
  // One reply, tried again on its schedule.
  tries.fail(0);
  tries.fail(1_000);
  assert.equal(tries.failingSince(1_000), null);
  tries.fail(6_000);
  assert.equal(tries.failingSince(6_000), 0);
});

test('of a busy receiver that breaks it is told within fifteen seconds, and since when', () => {
  const tries = new Tries();
  for (let ms = 0; ms < 60_000; ms += 10) tries.arrive(ms);
  let toldAt: number | null = null;
  for (let ms = 60_000; toldAt === null; ms += 10) {
    tries.fail(ms);
    if (tries.failingSince(ms) !== null) toldAt = ms;
  }
  assert.ok(toldAt - 60_000 < 15_000, `${toldAt}`);
  const since = tries.failingSince(toldAt)!;
  assert.ok(since >= 60_000 && since < 62_000, `${since}`);
});

test('a failure now and then is none of the receiver', () => {
  const tries = new Tries();
  for (let ms = 0; ms < 600_000; ms += 100) {
    if (ms % 1_000 === 0) tries.fail(ms);
    else tries.arrive(ms);
    assert.equal(tries.failingSince(ms), null);
  }
});

test('few replies of which none arrives are enough, however far apart', () => {
  const tries = new Tries();
  for (const ms of [0, 60_000, 120_000]) tries.fail(ms);
  assert.equal(tries.failingSince(120_000), 0);
});

test('it works again after a minute with almost no failure, not with the first arrival', () => {
  const tries = new Tries();
  for (let ms = 0; ms < 20_000; ms += 100) tries.fail(ms);
  for (let ms = 20_000; ms < 40_000; ms += 100) {
    tries.arrive(ms);
    assert.equal(tries.failingSince(ms), 0);
  }
  for (let ms = 40_000; ms < 70_000; ms += 100) tries.arrive(ms);
  assert.equal(tries.failingSince(70_000), 0);
  for (let ms = 70_000; ms < 80_000; ms += 100) tries.arrive(ms);
  assert.equal(tries.failingSince(80_000), null);
});

test('it works again once all that waited arrived, though nothing follows', () => {
  const tries = new Tries();
  for (const ms of [0, 100, 200]) tries.fail(ms);
  for (const ms of [5_000, 5_100, 5_200]) tries.arrive(ms);
  assert.equal(tries.failingSince(6_000), 0);
  assert.equal(tries.failingSince(61_000), null);
});

test('one that comes and goes does not change the state with it', () => {
  const tries = new Tries();
  let changes = 0;
  let last: number | null = null;
  for (let ms = 0; ms < 1_200_000; ms += 100) {
    if (Math.floor(ms / 4_000) % 2 === 0) tries.fail(ms);
    else tries.arrive(ms);
    const since = tries.failingSince(ms);
    if ((since === null) !== (last === null)) changes++;
    last = since;
  }
  assert.equal(changes, 1);
});

test('where nothing is tried it stays as it was; what svc gave up itself says nothing', () => {
  const tries = new Tries();
  for (const ms of [0, 1_000, 2_000]) tries.fail(ms);
  assert.equal(tries.failingSince(3_600_000), 0);
  const given = new DeliveryTries();
  for (let ms = 0; ms < 5_000; ms += 100) given.failed(failure('cancelled'), began, time(ms));
  assert.deepEqual(given.read(began, time(5_000)).minute, { tried: 0, failed: 0 });
});

test('reasons are counted over one minute and five, by what it answered', () => {
  const tries = new Tries();
  tries.fail(0, 502);
  tries.arrive(100);
  for (let ms = 120_000; ms < 120_500; ms += 100) tries.fail(ms, 500);
  const { minute, fiveMinutes, reasons } = tries.at(121_000);
  assert.deepEqual(
    [minute, fiveMinutes],
    [
      { tried: 5, failed: 5 },
      { tried: 7, failed: 6 },
    ],
  );
  assert.deepEqual(reasons, [
    { code: 'server_error', status: 502, minute: 0, fiveMinutes: 1 },
    { code: 'server_error', status: 500, minute: 5, fiveMinutes: 5 },
  ]);
});

test('a receiver that answers nothing fails before the first of its tries has', () => {
  const tries = new Tries();
  tries.begin(0);
  tries.arrive(40);
  tries.end(40);
  for (const ms of [1_000, 2_000, 3_000]) tries.begin(ms);
  assert.equal(tries.failingSince(10_900), null);
  assert.equal(tries.failingSince(11_000), 1_000);
  tries.arrive(11_500);
  tries.end(11_500);
  assert.equal(tries.failingSince(40_900), 1_000, 'what is shown stays for half a minute');
  assert.equal(tries.failingSince(41_000), null, 'it was slow, and is not silent');
  assert.equal(tries.failingSince(60_000), null, 'two are too few');
});

test('a silent one stays so when its first tries fail', () => {
  const tries = new Tries();
  for (let ms = 0; ms < 1_000; ms += 10) tries.arrive(ms);
  for (const ms of [1_000, 2_000, 3_000]) tries.begin(ms);
  for (const ms of [11_000, 11_500, 12_000]) assert.equal(tries.failingSince(ms), 1_000);
  for (const ms of [16_000, 17_000, 18_000]) {
    tries.end(ms);
    tries.fail(ms, 504);
    assert.equal(tries.failingSince(ms), 1_000);
  }
  tries.begin(60_000);
  tries.end(60_040);
  assert.equal(tries.failingSince(60_040), 1_000);
  tries.arrive(60_040);
  assert.equal(tries.someArrive(60_040), true);
  assert.equal(tries.failingSince(60_040), 1_000, 'three of four tries of this minute failed');
  assert.equal(tries.failingSince(90_100), null);
});

test('of one conversation alone it is told, too, that its receiver answers nothing', () => {
  const tries = new Tries();
  for (let ms = 0; ms < 60_000; ms += 3_000) tries.arrive(ms);
  tries.begin(60_000);
  assert.equal(tries.failingSince(74_900), null);
  tries.end(75_000);
  tries.fail(75_000);
  tries.begin(76_000);
  assert.equal(tries.failingSince(85_900), null);
  assert.equal(tries.failingSince(86_000), 75_000);
});

test('a few in a row of which none arrives are enough, whatever arrived before', () => {
  const tries = new Tries();
  for (let ms = 0; ms < 60_000; ms += 3_000) tries.arrive(ms);
  for (const ms of [60_000, 90_000]) tries.fail(ms);
  assert.equal(tries.failingSince(90_000), null);
  tries.fail(120_000);
  assert.equal(tries.failingSince(120_000), 60_000);
});

test('some arrive until fifteen seconds after the last one, and again half a minute later', () => {
  const tries = new Tries();
  for (let ms = 0; ms <= 60_000; ms += 500) tries.arrive(ms);
  for (let ms = 60_500; ms < 90_000; ms += 500) {
    tries.fail(ms);
    assert.equal(tries.someArrive(ms), ms < 75_000, `${ms}`);
  }
  for (let ms = 90_000; ms < 105_000; ms += 500) tries.arrive(ms);
  assert.equal(tries.someArrive(104_900), false);
  assert.equal(tries.someArrive(105_000), true);
  assert.equal(tries.failingSince(105_000), 60_500, 'since stays while it eases');
});

test('a share of the last minute is a trouble in part, until it is below one in twenty', () => {
  const tries = new Tries();
  for (let ms = 0; ms < 60_000; ms += 1_000) {
    if (ms % 5_000 === 0) tries.refuse(ms);
    else tries.arrive(ms);
  }
  assert.equal(tries.failingSince(60_000), 0);
  for (let ms = 60_000; ms < 100_000; ms += 1_000) tries.arrive(ms);
  assert.equal(tries.failingSince(100_000), 0);
  assert.ok(tries.someArrive(100_000));
  for (let ms = 100_000; ms < 110_000; ms += 1_000) tries.arrive(ms);
  assert.equal(tries.failingSince(110_000), null);
});

test('a receiver that refuses what replies say has answered: it takes ten of them', () => {
  const tries = new Tries();
  tries.arrive(0);
  for (let at = 1; at <= 9; at++) tries.refuse(at * 3_000);
  assert.equal(tries.someArrive(27_000), true);
  tries.refuse(30_000);
  assert.equal(tries.someArrive(30_000), false);
});

test('refusals that go on for five minutes are enough, and none of an earlier reply counts', () => {
  const few = new Tries();
  few.arrive(0);
  for (const at of [0, 100, 200]) few.refuse(1_000 + at * 1_000);
  assert.equal(few.someArrive(250_000), true);
  few.refuse(301_000);
  assert.equal(few.someArrive(301_000), false);
  const one = new Tries();
  one.arrive(0);
  one.refuse(1_000);
  for (let ms = 2_000; ms < 400_000; ms += 5_000) one.refuse(ms, true);
  assert.equal(one.someArrive(400_000), true);
});

test('if no reply ever arrived, three refusals are enough, also of one reply', () => {
  const tries = new Tries();
  tries.refuse(0);
  tries.refuse(1_000, true);
  assert.equal(tries.failingSince(1_000), null);
  tries.refuse(6_000, true);
  assert.equal(tries.failingSince(6_000), 0);
  assert.equal(tries.someArrive(6_000), false);
});
