/** Warns beforehand that private texts will not reach the models that answer a route. */
import type { BrainConfig, Config } from '../../config/config.ts';
import { problemWithoutPlace, type ConfigProblem } from '../../config/problems.ts';
import { rankModels } from '../../config/rank.ts';
import { plural } from '../../domain/plural.ts';
import { ReadFailed, type LedgerReader } from '../../ledger/ledger.ts';

export type PrivateTurns = Pick<LedgerReader, 'privateConversations'>;

/**
 * A warning for each such route; none if the storage cannot be read. A channel whose other routes
 * have a private brain is not public, so nobody expects its private texts at a cloud model.
 */
export async function warnOfPrivateTurns(
  { routes, brains }: Config,
  reader: PrivateTurns,
): Promise<readonly ConfigProblem[]> {
  const found: ConfigProblem[] = [];
  const brainOf = (name: string): BrainConfig | undefined =>
    brains.find((one) => one.name === name);
  for (const { channel, brain: name, number } of routes) {
    const own = routes.filter((one) => one.channel === channel);
    if (own.some((one) => brainOf(one.brain)?.sensitivity === 'private')) continue;
    const brain = brainOf(name);
    if (brain === undefined || !asksElsewhere(brain)) continue;
    const count = await countOn(channel, reader);
    if (count === 0) continue;
    const hold = count === 1 ? 'holds' : 'hold';
    const message =
      `${plural(count, 'conversation')} on ${channel} ${hold} private texts, and ${name} asks ` +
      'cloud models, which will not see those';
    const remedy = 'Route the channel to a brain with local models to have them seen.';
    found.push(problemWithoutPlace('private_not_shown', `routes[${number - 1}]`, message, remedy));
  }
  return found;
}

/** An agent asks only its best-ranked model. */
function asksElsewhere({ sensitivity, agent, policy, models }: BrainConfig): boolean {
  if (sensitivity === 'private') return false;
  const ranked = rankModels(policy.order, models).map((index) => models[index]!);
  const askedModels = agent === null ? ranked : ranked.slice(0, 1);
  return askedModels.some(({ locality }) => locality === 'cloud');
}

async function countOn(channel: string, reader: PrivateTurns): Promise<number> {
  try {
    return await reader.privateConversations(channel);
  } catch (error) {
    if (error instanceof ReadFailed) return 0;
    throw error;
  }
}
