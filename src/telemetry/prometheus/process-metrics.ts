/**
 * Metrics of the process itself: CPU, memory, open files, garbage collection. Names and meanings
 * are those of prom-client's default metrics, so that existing dashboards for Node programs work.
 * The `process_` ones are also those of all Prometheus clients
 * (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics).
 */
import { readdirSync, readFileSync } from 'node:fs';
import {
  constants,
  performance,
  PerformanceObserver,
  type PerformanceEntry,
} from 'node:perf_hooks';
import { getHeapSpaceStatistics } from 'node:v8';
import { Histogram } from '../../lib/histogram.ts';
import type { NameOf } from './catalog.ts';
import { histogram, metric, one, plain, type Family } from './exposition.ts';

const everyMs = 100;

/**
 * Measures the lag of the event loop: how late a timer of 100 ms fires. Begins on construction,
 * ends on disposal, and keeps no process alive.
 */
export class LagWatch implements Disposable {
  readonly histogram = new Histogram();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    let dueAt = performance.now() + everyMs;
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.histogram.observe(Math.max(0, now - dueAt));
      dueAt = now + everyMs;
    }, everyMs).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** All metrics that this system offers. Only Linux reports open files and virtual memory. */
export function processFamilies(collections: GarbageWatch): Family[] {
  return [
    ...cpuFamilies(),
    plain('svc_process_start_time_seconds', Math.round(performance.timeOrigin / 1_000)),
    ...memoryFamilies(),
    ...fileFamilies(),
    ...resourceFamilies(),
    ...heapFamilies(),
    versionFamily(),
    histogram(
      'svc_nodejs_gc_duration_seconds',
      [...collections.byKind].map(([kind, took]) => ({ labels: { kind }, histogram: took })),
    ),
  ];
}

function cpuFamilies(): Family[] {
  const { user, system } = process.cpuUsage();
  return [
    plain('svc_process_cpu_user_seconds_total', user / 1e6),
    plain('svc_process_cpu_system_seconds_total', system / 1e6),
    plain('svc_process_cpu_seconds_total', (user + system) / 1e6),
  ];
}

/** Lines of /proc/self/status, in KiB. Format: proc_pid_status(5). */
const linesOfStatus = [
  ['VmSize', 'svc_process_virtual_memory_bytes'],
  ['VmData', 'svc_process_heap_bytes'],
] as const;

function memoryFamilies(): Family[] {
  const status = readOrNull(() => readFileSync('/proc/self/status', 'utf8')) ?? '';
  return [
    plain('svc_process_resident_memory_bytes', process.memoryUsage.rss()),
    ...linesOfStatus.flatMap(([line, name]) => {
      const kibibytes = new RegExp(`^${line}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
      return kibibytes === undefined ? [] : [plain(name, Number(kibibytes) * 1_024)];
    }),
  ];
}

function fileFamilies(): Family[] {
  // The folder of open files is open itself while this reads it.
  const open = readOrNull(() => readdirSync('/proc/self/fd').length - 1);
  const limits = readOrNull(() => readFileSync('/proc/self/limits', 'utf8')) ?? '';
  const max = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return [
    ...(open === null ? [] : [plain('svc_process_open_fds', open)]),
    ...(max === undefined ? [] : [plain('svc_process_max_fds', Number(max))]),
  ];
}

/** @returns null if the system has no such file */
function readOrNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function resourceFamilies(): Family[] {
  const resources = process.getActiveResourcesInfo();
  const counts = new Map<string, number>();
  for (const type of resources) counts.set(type, (counts.get(type) ?? 0) + 1);
  return [
    metric(
      'svc_nodejs_active_resources',
      [...counts].map(([type, count]) => one(count, { type })),
    ),
    plain('svc_nodejs_active_resources_total', resources.length),
  ];
}

function heapFamilies(): Family[] {
  const { heapTotal, heapUsed, external } = process.memoryUsage();
  const spaces = getHeapSpaceStatistics().map((space) => ({
    ...space,
    labels: { space: space.space_name.replace(/_space$/, '') },
  }));
  const bySpace = (
    name: Extract<NameOf<'gauge'>, `svc_nodejs_heap_space_${string}`>,
    key: 'space_size' | 'space_used_size' | 'space_available_size',
  ): Family =>
    metric(
      name,
      spaces.map(({ labels, [key]: bytes }) => one(bytes, labels)),
    );
  return [
    plain('svc_nodejs_heap_size_total_bytes', heapTotal),
    plain('svc_nodejs_heap_size_used_bytes', heapUsed),
    plain('svc_nodejs_external_memory_bytes', external),
    bySpace('svc_nodejs_heap_space_size_total_bytes', 'space_size'),
    bySpace('svc_nodejs_heap_space_size_used_bytes', 'space_used_size'),
    bySpace('svc_nodejs_heap_space_size_available_bytes', 'space_available_size'),
  ];
}

function versionFamily(): Family {
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  const labels = { version: process.version, major, minor, patch };
  return metric('svc_nodejs_version_info', [one(1, labels)]);
}

const kinds: ReadonlyMap<number | undefined, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

/** Measures how long garbage collections take. Begins on construction, ends on disposal. */
export class GarbageWatch implements Disposable {
  readonly byKind = new Map<string, Histogram>();
  readonly #observer: PerformanceObserver;

  constructor() {
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) this.#observe(entry);
    });
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  [Symbol.dispose](): void {
    this.#observer.disconnect();
  }

  #observe(entry: PerformanceEntry & { readonly detail?: { readonly kind?: number } }): void {
    const kind = kinds.get(entry.detail?.kind) ?? 'other';
    const known = this.byKind.get(kind) ?? new Histogram();
    known.observe(entry.duration);
    this.byKind.set(kind, known);
  }
}
