/** Tells the operator of models that private brains ask and that are elsewhere. */
import { later } from '../lib/clock.ts';
import type { PlannedModel } from '../run/plan.ts';
import type { ServiceKit } from '../service.ts';

/** How long a runtime has to answer. */
const lookMs = 5_000;

/**
 * Asks the runtimes in the background, for the warning alone. What a runtime said before is known
 * already, and a private request waits by itself for what is not known. No answer is no evidence.
 */
export async function warnOfRelays(
  models: readonly PlannedModel[],
  { events, steady }: Pick<ServiceKit, 'events' | 'steady'>,
): Promise<void> {
  const look = async ({ brain, config, model }: PlannedModel): Promise<void> => {
    const found = await model.check('private', later(steady(), lookMs));
    if (found.kind === 'failed' && found.failure.kind === 'far_address') {
      events.warned({
        code: 'model_far',
        message:
          `${model.modelId} of the private brain ${brain} is at ${config.baseUrl}: neither ` +
          'on this machine nor in a private network, so it is not asked. Write the base_url of a ' +
          'runtime that is.',
      });
    }
    if (found.kind === 'failed' || found.runs !== 'elsewhere') return;
    events.warned({
      code: 'model_leaves_machine',
      message:
        `${model.modelId} of the private brain ${brain} is handed on to a vendor by the local ` +
        'runtime, so it is not asked. Choose a model that runs here; where this one does by now, ' +
        'restart svc.',
    });
  };
  const doubtful = models.filter(
    ({ sensitivity, model }) =>
      sensitivity === 'private' && model.locality === 'local' && model.mayForward,
  );
  await Promise.all(doubtful.map(look));
}
