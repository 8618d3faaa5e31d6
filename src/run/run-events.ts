/** The hub of one run. */
import type { Events } from '../domain/event.ts';
import { createEvents, type EventHub } from '../events.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

export type TurnWatch = (
  turn: Parameters<Events['turnFinished']>[0] | Parameters<Events['commandAnswered']>[0],
) => void;

/**
 * A watch is told of each turn after everybody else, and must return at once. Where there is none,
 * no turn pays for it: the methods are the hub's own.
 */
export function createRunEvents(
  log: Log,
  { now, steady }: Clock,
  watch: TurnWatch | undefined,
): EventHub {
  const hub = createEvents({ log, now, steady });
  if (watch === undefined) return hub;
  const [finished, answered] = [hub.turnFinished.bind(hub), hub.commandAnswered.bind(hub)];
  return Object.assign(hub, {
    turnFinished(turn: Parameters<Events['turnFinished']>[0]) {
      finished(turn);
      watch(turn);
    },
    commandAnswered(turn: Parameters<Events['commandAnswered']>[0]) {
      answered(turn);
      watch(turn);
    },
  });
}
