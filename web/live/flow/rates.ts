/** Throughput of each node and line of the map in the last minute. */
import type { Status } from '../../../src/admin/admin.ts';

export type Rates = {
  /** By the key of the node. */
  readonly nodes: ReadonlyMap<string, number>;
  /** By the keys of both nodes of a line. */
  readonly lines: ReadonlyMap<string, number>;
};

export const lineKey = (from: string, to: string): string => `${from} → ${to}`;

/** Channels and brains count answered messages, models count calls. */
export function ratesOf({ traffic: throughput }: Pick<Status, 'traffic'>): Rates {
  const nodes = new Map<string, number>();
  const lines = new Map<string, number>();
  const add = (map: Map<string, number>, key: string, count: number): void => {
    map.set(key, (map.get(key) ?? 0) + count);
  };
  for (const { channel, brain, perMinute } of throughput?.answered ?? []) {
    const [from, to] = [`channel ${channel}`, `brain ${brain}`];
    add(nodes, from, perMinute);
    add(nodes, to, perMinute);
    add(lines, lineKey(from, to), perMinute);
  }
  for (const { brain, model, perMinute } of throughput?.asked ?? []) {
    const to = `model ${model}`;
    add(nodes, to, perMinute);
    add(lines, lineKey(`brain ${brain}`, to), perMinute);
  }
  return { nodes, lines };
}
