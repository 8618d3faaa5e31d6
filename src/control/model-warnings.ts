/**
 * Tells the operator of models of local runtimes that will not answer as things are: the runtime
 * does not run or has no such model, or that of a private brain is elsewhere, or hands the model on
 * to a vendor.
 */
import { remedyForModel } from '../domain/remedy.ts';
import { later } from '../lib/clock.ts';
import type { PlannedModel } from '../run/plan.ts';
import type { ServiceKit } from '../service.ts';

/** How long a runtime has to answer. */
const lookMs = 5_000;

type Kit = Pick<ServiceKit, 'events' | 'steady'>;

/**
 * Asks the runtimes in the background, for the warnings alone. What a runtime said before is known
 * already, and a private request waits by itself for what is not known. No answer is no evidence
 * of where a model runs.
 */
export async function warnOfModels(models: readonly PlannedModel[], kit: Kit): Promise<void> {
  const told = new Set<string>();
  const asked = models.filter(
    ({ sensitivity, model }) =>
      model.mayForward && (sensitivity === 'public' || model.locality === 'local'),
  );
  await Promise.all(asked.map((one) => look(one, told, kit)));
}

async function look(
  { brain, sensitivity, config, model }: PlannedModel,
  told: Set<string>,
  { events, steady }: Kit,
): Promise<void> {
  const found = await model.check(sensitivity, later(steady(), lookMs));
  if (found.kind === 'failed' && found.failure.kind === 'far_address') {
    return events.warned({
      code: 'model_far',
      message:
        `${model.modelId} of the private brain ${brain} is at ${config.baseUrl}: neither ` +
        'on this machine nor in a private network, so it is not asked. Write the base_url of a ' +
        'runtime that is.',
    });
  }
  if (found.kind === 'reached' && found.runs === 'elsewhere' && sensitivity === 'private') {
    events.warned({
      code: 'model_leaves_machine',
      message:
        `${model.modelId} of the private brain ${brain} is handed on to a vendor by the local ` +
        'runtime, so it is not asked. Choose a model that runs here; where this one does by now, ' +
        'restart svc.',
    });
  }
  const kind = found.kind === 'failed' ? found.failure.kind : 'not_found';
  const remedy = remedyForModel(kind, model.name);
  if ((found.kind === 'reached' && found.hasModel !== false) || remedy === null) return;
  const message = `${model.name} will not answer yet. ${remedy}`;
  const key = `${config.baseUrl} ${message}`;
  if (told.has(key)) return;
  told.add(key);
  events.warned({ code: 'model_not_ready', message });
}
