/**
 * The rules of `promtool check metrics` up to Prometheus 3, for all metrics of the catalog. The
 * test of examples/monitoring runs the promtool of Debian, which is older.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalog, topics, type Metric } from './catalog.ts';

const metrics: [string, Metric][] = Object.entries(catalog);

/** Names of svc that contain one of these words have it as a unit, or as a type. */
const notInNames: ReadonlySet<string> = new Set(
  (
    'minutes hours days weeks milliseconds microseconds nanoseconds bits kilobytes kibibytes ' +
    'megabytes gigabytes s ms us ns sec b kb mb gb tb pb m h d ' +
    'counter gauge histogram summary bucket count sum'
  ).split(' '),
);

test('names are in snake case, with base units and without abbreviations or types', () => {
  for (const [name] of metrics) {
    assert.match(name, /^svc(?:_[a-z]+)+$/);
    const wrong = name.split('_').filter((word) => notInNames.has(word));
    assert.deepEqual(wrong, [], name);
  }
});

test('all counters end in _total, and nothing else that a linter knows by its kind', () => {
  for (const [name, { kind }] of metrics) {
    if (kind !== 'untyped') assert.equal(name.endsWith('_total'), kind === 'counter', name);
    if (name.endsWith('_timestamp_seconds') || name.endsWith('_info')) {
      assert.equal(kind, 'gauge', name);
    }
    if (kind === 'histogram') assert.ok(name.endsWith('_seconds'), name);
  }
});

test('labels are in snake case, and none holds an id, a person or a text', () => {
  const reserved = /^(?:le|quantile|id|.*_id|sender|person|conversation|message|text)$/;
  for (const [name, { labels }] of metrics) {
    for (const label of labels) {
      assert.match(label, /^[a-z_]+$/, name);
      assert.doesNotMatch(label, reserved, name);
    }
    assert.equal(new Set(labels).size, labels.length, name);
  }
});

test('each metric says in whole words what it counts, and stands in one topic', () => {
  const all = Object.values(topics).flatMap((topic) => Object.keys(topic));
  assert.deepEqual(all.toSorted(), Object.keys(catalog).toSorted());
  for (const [name, { help }] of metrics) assert.match(help, /^[A-Z01].*[.]$/, name);
});
