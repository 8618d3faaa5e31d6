/** Several worlds of the admin server, as instances on one ledger that see each other. */
import type { RowsOfChannel, StatusView } from '../../src/cluster/cluster.ts';
import { reportsOf, type LastReports } from '../../src/cluster/view.ts';
import { reportOf, describeReport, type Report } from '../../src/admin/reports/report.ts';
import { makeWorld, type World } from './admin-world.ts';

export type OtherInstance = World & {
  readonly id: number;
  /** The age of its last report; null: it sent none. */
  ageMs: number | null;
  posts: readonly string[];
  beganAt: number;
  /** Changes the instance's report. */
  change: (told: Report) => unknown;
};

export const placeOf = (id: number) => ({ host: `host-${id}`, admin: `10.0.0.${id}:2112` });

/** Worlds with these numbers; the test asks the first. `rows`: the rows in their storage. */
export function makeInstances(
  ids: readonly number[],
  rows: readonly RowsOfChannel[] | null = null,
) {
  const all = ids.map((id) => makeInstance(id));
  const living = (): LastReports['living'] =>
    all.map(({ id, ageMs, posts, beganAt, ports, change }) => {
      const own = JSON.parse(describeReport(reportOf(ports))) as Report;
      const report = JSON.stringify(change(own));
      const lastReport = ageMs === null ? null : { ageMs, report };
      return { id, version: `1.2.${id}`, beganAt, posts, lastReport };
    });
  for (const one of all) {
    const seen = () => ({ living: living(), rows, rowsAgeMs: 0 });
    const view = viewOf(one.id, seen, () => one.clockMs);
    one.ports = { ...one.ports, view, place: () => placeOf(one.id) };
  }
  return all;
}

/** The view of the instance with that number. */
export function viewOf(id: number, seen: () => LastReports, now: () => number): StatusView {
  return { read: (own, parse) => reportsOf({ id, report: own() }, seen(), parse, now()) };
}

function makeInstance(id: number): OtherInstance {
  const more = { id, ageMs: 400, posts: [], beganAt: 900_000, change: (told: Report) => told };
  return Object.assign(makeWorld(), more);
}
