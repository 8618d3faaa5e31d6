/** Makes one view of all instances on a ledger: what an admin server answers for all of them by. */
import { hostname } from 'node:os';
import type { InstancesPort, Place } from '../../admin/instances/instances.ts';
import { tellReport, type Report } from '../../admin/instances/report.ts';
import type { EventHub } from '../../telemetry/events.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Peers } from '../../cluster/peers.ts';
import type { SharedView } from '../../cluster/shared-view.ts';
import { FrameExchange, type FrameTimes } from './frame-exchange.ts';
import { ReportExchange, type ReportTimes } from './report-exchange.ts';

export type OneViewParts = Clock & {
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
  parts: OneViewParts,
  times: Partial<ReportTimes & FrameTimes> = {},
): OneView {
  const { peers, view, events, report, now, steady, admin } = parts;
  const opened = new DisposableStack();
  const place = (): Place => ({ host: hostname(), admin: admin() });
  const reportNow = (): string => tellReport(report(place()));
  const unheard = (error: unknown): void => {
    const why = error instanceof Error ? error.message : String(error);
    const message =
      'The other instances do not hear how this one is, and show it as late; it goes on trying. ' +
      `The database server: ${why}`;
    events.warned({ code: 'view_unshared', message });
  };
  const told = { peers, view, steady, unheard, report: reportNow };
  const reports = opened.use(new ReportExchange(told, times));
  opened.use(new FrameExchange({ peers, view, frames: events.frames, now, steady }, times));
  return {
    own: peers.id,
    place,
    seen: () => reports.seen(),
    [Symbol.dispose]: () => opened.dispose(),
  };
}
