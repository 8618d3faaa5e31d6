/** Random moments for a strike. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from '../support/program.ts';
import type { World } from './world.ts';

const moments = ['start', 'running', '200', 'model', 'reply'] as const;

/** As long as a start takes on a quiet machine. */
const startMs = 400;
/** The longest delays after the moment. */
const [listeningMs, runningMs] = [100, 50];

/**
 * Resolves at a random moment: during a start, during a run, right after a 200, while a model
 * thinks, when a reply has just arrived; or when the program has ended by itself.
 */
export async function someMoment(
  world: Pick<World, 'crowd' | 'model' | 'receiver'>,
  program: Pick<Program, 'saw' | 'ended'>,
  random: () => number,
): Promise<void> {
  const moment = moments[Math.floor(random() * moments.length)]!;
  const [first, second] = [random(), random()];
  if (moment === 'start') return pause(first * startMs);
  await program.saw('"listening"');
  await pause(first * listeningMs);
  const event = async (): Promise<unknown> => {
    switch (moment) {
      case 'running':
        return pause(second * runningMs);
      case '200':
        return world.crowd.next200();
      case 'model':
        return world.model.call(world.model.calls.length);
      case 'reply':
        return world.receiver.waitFor(world.receiver.received.length + 1);
      default:
        return moment satisfies never;
    }
  };
  await Promise.race([event(), program.ended]);
}
