/** Creates the event hub of one run. */
import type { Events } from '../domain/event.ts';
import { createEvents, type EventHub } from '../telemetry/events.ts';
import { FigureCounts } from '../telemetry/figures/counting.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

export type TurnWatch = (
  turn: Parameters<Events['turnFinished']>[0] | Parameters<Events['commandAnswered']>[0],
) => void;

/** The hub, which also counts events in the current minute of the figures. */
export type RunEvents = EventHub & { readonly figures: FigureCounts };

/**
 * Calls `watch` with each turn after all other listeners. It must return at once. Without a watch,
 * a turn costs nothing more.
 */
export function createRunEvents(
  log: Log,
  { now, steady }: Clock,
  watch: TurnWatch | undefined,
): RunEvents {
  const hub = createEvents({ log, now, steady });
  const figures = new FigureCounts(now);
  addListener(hub, 'messageAccepted', (e) => figures.messageAccepted(e));
  addListener(hub, 'turnFinished', (e) => figures.turnFinished(e));
  addListener(hub, 'commandAnswered', () => figures.commandAnswered());
  addListener(hub, 'answeredByOperator', () => figures.answeredByOperator());
  addListener(hub, 'buried', (e) => figures.buried(e));
  addListener(hub, 'modelAnswered', (e) => figures.modelAnswered(e));
  addListener(hub, 'modelSpent', (e) => figures.modelSpent(e));
  addListener(hub, 'replyDelivered', (e) => figures.replyDelivered(e));
  addListener(hub, 'configUsed', (e) => figures.configUsed(e));
  if (watch !== undefined) {
    addListener(hub, 'turnFinished', watch);
    addListener(hub, 'commandAnswered', watch);
  }
  return Object.assign(hub, { figures });
}

type Of<Name extends keyof Events> = Parameters<Events[Name]>[0];

/** Adds a listener after those that already listen to this event. */
function addListener<Name extends keyof Events>(
  hub: Record<Name, (e: Of<Name>) => void>,
  name: Name,
  listener: (e: Of<Name>) => void,
): void {
  const before = hub[name].bind(hub);
  Object.assign(hub, {
    [name](e: Of<Name>): void {
      before(e);
      listener(e);
    },
  });
}
