/** Makes one view of all instances on a ledger: what an admin server answers for all of them by. */
import { hostname } from 'node:os';
import type { InstancesPort, Place } from '../../admin/instances/instances.ts';
import { describeReport, type Report } from '../../admin/instances/report.ts';
import type { EventHub } from '../../telemetry/events.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Peers } from '../../cluster/peers.ts';
import type { SharedView } from '../../cluster/shared-view.ts';
import { LiveEventExchange, type LiveEventTimes } from './frame-exchange.ts';
import { ReportExchange, type ReportTimes } from './report-exchange.ts';

export type OneViewDeps = Clock & {
  readonly peers: Peers;
  readonly view: SharedView;
  readonly events: Pick<EventHub, 'frames' | 'warned'>;
  /** Of this instance, as of now. */
  readonly report: (place: Place) => Report;
  /** Where the admin server is found; null: there is none, or not yet. */
  readonly admin: () => string | null;
};

export type OneView = InstancesPort & Disposable;

export function openOneView(
  deps: OneViewDeps,
  times: Partial<ReportTimes & LiveEventTimes> = {},
): OneView {
  const { peers, view, events, report, now, steady, admin } = deps;
  const opened = new DisposableStack();
  const place = (): Place => ({ host: hostname(), admin: admin() });
  const reportNow = (): string => describeReport(report(place()));
  const unheard = (error: unknown): void => {
    const why = error instanceof Error ? error.message : String(error);
    const message =
      'The other instances do not hear how this one is, and show it as late; it goes on trying. ' +
      `The database server: ${why}`;
    events.warned({ code: 'view_unshared', message });
  };
  const told = { peers, view, steady, unheard, report: reportNow };
  const reports = opened.use(new ReportExchange(told, times));
  opened.use(new LiveEventExchange({ peers, view, frames: events.frames, now, steady }, times));
  return {
    own: peers.id,
    place,
    seen: () => reports.seen(),
    [Symbol.dispose]: () => opened.dispose(),
  };
}
