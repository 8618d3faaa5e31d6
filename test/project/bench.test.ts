/** The arithmetic of the bench. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Profile, selfTimes } from '../../bench/profile.ts';
import { medianOf, ratioOf, Record } from '../../bench/record.ts';
import { digits, frames, readDigits } from '../../bench/sockets.ts';
import { figure, median, percentile, table, verdict } from '../../bench/stats.ts';

test('a percentile is the smallest value that so many percent do not exceed', () => {
  const values = Array.from({ length: 200 }, (_, at) => 200 - at);
  assert.equal(percentile(values, 50), 100);
  assert.equal(percentile(values, 99), 198);
  assert.equal(percentile(values, 100), 200);
  assert.equal(percentile([7], 99), 7);
  assert.ok(Number.isNaN(percentile([], 50)));
});

test('a median of an even count is the mean of the two in the middle', () => {
  assert.equal(median([5, 1, 9]), 5);
  assert.equal(median([9, 1, 5, 2]), 3.5);
  assert.ok(Number.isNaN(median([])));
});

test('figures are short, and a missing one is a dash', () => {
  assert.deepEqual(
    [12_345.6, 0.8123, 71, Number.NaN].map((value) => figure(value)),
    ['12,300', '0.812', '71', '–'],
  );
});

test('a table has columns as wide as their widest cell', () => {
  const text = table([
    ['a', 'long head'],
    ['wider', 'x'],
  ]);
  assert.equal(text, 'a      long head\n-----  ---------\nwider  x');
});

test('a verdict says by how much a goal is missed', () => {
  assert.equal(verdict(0.8, { atLeast: 0.8 }), 'reached');
  assert.equal(verdict(0.6, { atLeast: 0.8 }), 'missed by 0.2 (25 %)');
  assert.equal(verdict(99, { atMost: 90 }), 'missed by 9 (10 %)');
  assert.equal(verdict(Number.NaN, { atMost: 90 }), 'not measured');
});

test('a record tells replies in time from late, lost and repeated ones', () => {
  const record = new Record();
  for (const at of [0, 1, 2, 3]) {
    record.sent(at, 1_000 * at);
    record.answered(at, at === 3 ? 503 : 200, 1_000 * at + 100);
  }
  assert.equal(record.gotReply(0, 350, 2_000), true);
  assert.equal(record.gotReply(0, 350, 2_100), false);
  assert.equal(record.gotReply(1, 1_050, 9_000), true);
  const measured = record.measured(0, 4_000, 0.01);
  assert.equal(measured.replies, 1);
  assert.equal(measured.perSecond, 250);
  assert.equal(measured.cpuUs, 10_000);
  assert.deepEqual([measured.p50Ms, measured.p99Ms], [2, 8]);
  assert.deepEqual([measured.addedP50Ms, measured.addedP99Ms], [0, 0.25]);
  assert.deepEqual([measured.lost, measured.repeated, measured.refused], [1, 1, 1]);
  const twice = { ...measured, perSecond: 500 };
  assert.equal(ratioOf(twice, measured).perSecond, 2);
  assert.equal(medianOf([measured, twice, twice]).perSecond, 500);
});

test('messages are framed however the bytes are cut, with a length or in chunks', () => {
  const wire =
    'POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello' +
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n' +
    'HTTP/1.1 204 No Content\r\n\r\n';
  for (let size = 1; size <= wire.length; size++) {
    const seen: string[] = [];
    const take = frames((bytes, _start, body, end) => {
      seen.push(bytes.toString('latin1', body, end));
    });
    for (let at = 0; at < wire.length; at += size) take(Buffer.from(wire.slice(at, at + size)));
    assert.deepEqual(seen, ['hello', '3\r\nabc\r\n0\r\n\r\n', ''], `in pieces of ${size}`);
  }
});

test('a number written with its digits is read again', () => {
  assert.equal(readDigits(Buffer.from(`#${digits(1_234_567, 16)} `), 1, 16), 1_234_567);
});

test('a profile is summed by function and file, over threads, without idle time', () => {
  const nodes = [
    { id: 1, callFrame: frame('(idle)', '') },
    { id: 2, callFrame: frame('parse', pathToFileURL('src/a.ts').href) },
    { id: 3, callFrame: frame('', 'node:net') },
  ];
  const one: Profile = { nodes, samples: [1, 2, 2], timeDeltas: [9_000, 1_000, 2_000] };
  const other: Profile = { nodes, samples: [3, 2], timeDeltas: [1_000, 6_000] };
  assert.deepEqual(selfTimes([one, other], 9), [
    { name: 'parse src/a.ts', ms: 9, share: 0.9 },
    { name: '(anonymous) node:net', ms: 1, share: 0.1 },
  ]);
});

function frame(functionName: string, url: string) {
  return { functionName, url };
}
