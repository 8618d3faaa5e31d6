/** The hub of one run. */
import type { Events } from '../domain/event.ts';
import { createEvents, type EventHub } from '../events.ts';
import { FigureCounts } from '../figures/counting.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

export type TurnWatch = (
  turn: Parameters<Events['turnFinished']>[0] | Parameters<Events['commandAnswered']>[0],
) => void;

/** What a run tells is counted in the minute of now as well. */
export type RunEvents = EventHub & { readonly figures: FigureCounts };

/**
 * A watch is told of each turn after everybody else, and must return at once. Where there is none,
 * no turn pays for it.
 */
export function createRunEvents(
  log: Log,
  { now, steady }: Clock,
  watch: TurnWatch | undefined,
): RunEvents {
  const hub = counted(createEvents({ log, now, steady }), new FigureCounts(now));
  if (watch === undefined) return hub;
  const [finished, answered] = [hub.turnFinished.bind(hub), hub.commandAnswered.bind(hub)];
  return Object.assign(hub, {
    turnFinished(turn: Of<'turnFinished'>) {
      finished(turn);
      watch(turn);
    },
    commandAnswered(turn: Of<'commandAnswered'>) {
      answered(turn);
      watch(turn);
    },
  });
}

type Of<Name extends keyof Events> = Parameters<Events[Name]>[0];

function counted(hub: EventHub, figures: FigureCounts): RunEvents {
  const told = {
    accepted: hub.messageAccepted.bind(hub),
    finished: hub.turnFinished.bind(hub),
    commanded: hub.commandAnswered.bind(hub),
    byHand: hub.answeredByHand.bind(hub),
    buried: hub.buried.bind(hub),
    called: hub.modelAnswered.bind(hub),
    delivered: hub.replyDelivered.bind(hub),
    used: hub.planUsed.bind(hub),
  };
  return Object.assign(hub, {
    figures,
    messageAccepted(e: Of<'messageAccepted'>) {
      told.accepted(e);
      figures.messageAccepted(e);
    },
    turnFinished(e: Of<'turnFinished'>) {
      told.finished(e);
      figures.turnFinished(e);
    },
    commandAnswered(e: Of<'commandAnswered'>) {
      told.commanded(e);
      figures.commandAnswered();
    },
    answeredByHand(e: Of<'answeredByHand'>) {
      told.byHand(e);
      figures.answeredByHand();
    },
    buried(e: Of<'buried'>) {
      told.buried(e);
      figures.buried(e);
    },
    modelAnswered(e: Of<'modelAnswered'>) {
      told.called(e);
      figures.modelAnswered(e);
    },
    replyDelivered(e: Of<'replyDelivered'>) {
      told.delivered(e);
      figures.replyDelivered(e);
    },
    planUsed(e: Of<'planUsed'>) {
      told.used(e);
      figures.planUsed(e);
    },
  });
}
