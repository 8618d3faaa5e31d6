import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { patienceMs } from '../../../test/support/waiting.ts';
import type { Family } from './exposition.ts';
import { GarbageWatch, processFamilies } from './process-metrics.ts';

function familiesByName(watch: GarbageWatch): ReadonlyMap<string, Family> {
  return new Map(processFamilies(watch).map((family) => [family.name, family]));
}

/** The only value of a counter or gauge without labels. */
function valueOf(name: string, families: ReadonlyMap<string, Family>): number {
  const family = families.get(name);
  assert.ok(family !== undefined && 'samples' in family, name);
  assert.equal(family.samples.length, 1, name);
  return family.samples[0]!.value;
}

const everywhere = {
  svc_process_cpu_user_seconds_total: 'counter',
  svc_process_cpu_system_seconds_total: 'counter',
  svc_process_cpu_seconds_total: 'counter',
  svc_process_start_time_seconds: 'gauge',
  svc_process_resident_memory_bytes: 'gauge',
  svc_nodejs_active_resources: 'gauge',
  svc_nodejs_active_resources_total: 'untyped',
  svc_nodejs_heap_size_total_bytes: 'gauge',
  svc_nodejs_heap_size_used_bytes: 'gauge',
  svc_nodejs_external_memory_bytes: 'gauge',
  svc_nodejs_heap_space_size_total_bytes: 'gauge',
  svc_nodejs_heap_space_size_used_bytes: 'gauge',
  svc_nodejs_heap_space_size_available_bytes: 'gauge',
  svc_nodejs_version_info: 'gauge',
  svc_nodejs_gc_duration_seconds: 'histogram',
};
const onLinux = {
  svc_process_virtual_memory_bytes: 'gauge',
  svc_process_heap_bytes: 'gauge',
  svc_process_open_fds: 'gauge',
  svc_process_max_fds: 'gauge',
};

test('the names of the process are the ones that boards know', () => {
  using watch = new GarbageWatch();
  const kinds = Object.fromEntries(processFamilies(watch).map(({ name, kind }) => [name, kind]));
  assert.deepEqual(kinds, { ...everywhere, ...(process.platform === 'linux' ? onLinux : {}) });
});

test('CPU, memory and the start of the process are those that Node tells', () => {
  using watch = new GarbageWatch();
  const before = process.cpuUsage();
  const families = familiesByName(watch);
  const after = process.cpuUsage();
  const value = (name: string): number => valueOf(name, families);
  const micros = (name: string): number => Math.round(value(name) * 1e6);
  const user = micros('svc_process_cpu_user_seconds_total');
  const system = micros('svc_process_cpu_system_seconds_total');
  assert.ok(before.user <= user && user <= after.user);
  assert.ok(before.system <= system && system <= after.system);
  assert.equal(micros('svc_process_cpu_seconds_total'), user + system);
  const startedMs = value('svc_process_start_time_seconds') * 1_000;
  assert.ok(Math.abs(startedMs - performance.timeOrigin) <= 500);
  const resident = value('svc_process_resident_memory_bytes');
  assert.ok(resident > value('svc_nodejs_heap_size_used_bytes'));
  assert.ok(value('svc_nodejs_heap_size_total_bytes') > value('svc_nodejs_heap_size_used_bytes'));
});

test('spaces of the heap are told by their names', () => {
  using watch = new GarbageWatch();
  const families = familiesByName(watch);
  const of = (what: string): ReadonlyMap<string | undefined, number> => {
    const family = families.get(`svc_nodejs_heap_space_size_${what}_bytes`);
    assert.ok(family !== undefined && family.kind === 'gauge');
    return new Map(family.samples.map(({ labels, value }) => [labels['space'], value]));
  };
  const [total, used, available] = [of('total'), of('used'), of('available')];
  assert.deepEqual([...used.keys()], [...total.keys()]);
  assert.deepEqual([...available.keys()], [...total.keys()]);
  for (const space of ['new', 'old', 'large_object']) {
    assert.ok(used.get(space)! <= total.get(space)!, space);
  }
  assert.ok(used.get('old')! > 0);
});

test(
  'open files are counted without the look at them',
  { skip: process.platform !== 'linux' },
  () => {
    using watch = new GarbageWatch();
    const count = (): number => readdirSync('/proc/self/fd').length - 1;
    const [files, families] = untilStill(count, () => familiesByName(watch));
    assert.equal(valueOf('svc_process_open_fds', families), files);
    assert.ok(valueOf('svc_process_max_fds', families) >= files);
  },
);

test('virtual memory is told in bytes', { skip: process.platform !== 'linux' }, () => {
  using watch = new GarbageWatch();
  const kibibytes = (): readonly string[] => {
    const status = readFileSync('/proc/self/status', 'utf8').split('\n');
    return status.filter((line) => /^Vm(?:Size|Data)/.test(line));
  };
  const [[size, data], families] = untilStill(kibibytes, () => familiesByName(watch));
  const told = (name: string): number => valueOf(name, families) / 1_024;
  assert.match(size!, new RegExp(`\\s${told('svc_process_virtual_memory_bytes')} kB$`));
  assert.match(data!, new RegExp(`\\s${told('svc_process_heap_bytes')} kB$`));
});

/** Reads the system and svc at a moment in which no other thread changes anything. */
function untilStill<Seen, Told>(look: () => Seen, tell: () => Told): readonly [Seen, Told] {
  for (;;) {
    const before = look();
    const told = tell();
    if (isDeepStrictEqual(before, look())) return [before, told];
  }
}

test('what keeps the event loop alive is counted by its type', () => {
  using watch = new GarbageWatch();
  const timeouts = (): readonly [number, number] => {
    const families = familiesByName(watch);
    const family = families.get('svc_nodejs_active_resources');
    assert.ok(family?.kind === 'gauge');
    const found = family.samples.find(({ labels }) => labels['type'] === 'Timeout');
    return [found?.value ?? 0, valueOf('svc_nodejs_active_resources_total', families)];
  };
  const [timers, all] = timeouts();
  const more = [setTimeout(() => {}, patienceMs), setTimeout(() => {}, patienceMs)];
  assert.deepEqual(timeouts(), [timers + 2, all + 2]);
  for (const timer of more) clearTimeout(timer);
  assert.deepEqual(timeouts(), [timers, all]);
});

test('garbage collections are counted by kind until the watch ends', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  using first = new GarbageWatch();
  collect();
  while (!first.byKind.has('major')) await new Promise(setImmediate);
  const { count, sumMs } = first.byKind.get('major')!;
  assert.ok(count >= 1 && sumMs > 0);
  const family = familiesByName(first).get('svc_nodejs_gc_duration_seconds');
  assert.ok(family?.kind === 'histogram');
  const { labels, histogram } = family.series.find((one) => one.labels['kind'] === 'major')!;
  assert.deepEqual([labels, histogram.count], [{ kind: 'major' }, count]);
  first[Symbol.dispose]();
  using second = new GarbageWatch();
  collect();
  while (!second.byKind.has('major')) await new Promise(setImmediate);
  assert.equal(first.byKind.get('major')!.count, count);
});
