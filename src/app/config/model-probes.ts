/**
 * Looks at models of the configuration in use, for people who ask: whether each is there. Nothing
 * of anyone is sent. What a look shows of a provider stands in its health from then on.
 */
import type { ModelProbe, ModelProbes } from '../../admin/model-probes.ts';
import { failure, type FailureKind } from '../../domain/failure.ts';
import { later } from '../../lib/clock.ts';
import type { ModelCheck } from '../../brains/models/model.ts';
import type { PlannedModel } from '../running-config.ts';
import type { ServiceDeps } from '../service.ts';

/** How long a provider has to answer. */
const lookMs = 5_000;
const atOnceMax = 4;

type Deps = Pick<ServiceDeps, 'events' | 'steady'>;

/** @param models of the plan in use; those that the shield drops are never looked at */
export function createModelProbes(models: () => readonly PlannedModel[], deps: Deps): ModelProbes {
  let underWay = 0;
  return {
    async look(name) {
      const planned = models().find((one) => one.model.name === name && mayAsk(one));
      if (planned === undefined) return { kind: 'none' };
      if (underWay >= atOnceMax) return { kind: 'busy' };
      underWay++;
      try {
        return { kind: 'looked', look: await lookAt(planned, deps) };
      } finally {
        underWay--;
      }
    },
  };
}

const mayAsk = ({ sensitivity, model }: PlannedModel): boolean =>
  sensitivity === 'public' || model.locality === 'local';

async function lookAt(
  { sensitivity, config, model }: PlannedModel,
  { events, steady }: Deps,
): Promise<ModelProbe> {
  const check = await model.check(sensitivity, later(steady(), lookMs));
  const found = foundBy(check, sensitivity === 'private');
  const { name, provider } = model;
  events.modelLooked({ model: name, provider, found: found ?? thereBy(check) });
  const failed = found === null ? null : failure(found);
  return {
    model: name,
    address: config.baseUrl,
    keyEnv: config.apiKeyEnv,
    failure: failed === null ? null : { kind: failed.kind, detail: failed.detail },
    others: check.kind === 'reached' ? check.others : [],
  };
}

/** @returns null: nothing speaks against its answering */
export function foundBy(check: ModelCheck, isPrivate: boolean): FailureKind | null {
  if (check.kind === 'failed') return check.failure.kind;
  if (isPrivate && check.runs === 'elsewhere') return 'left_machine';
  return check.hasModel === false ? 'not_found' : null;
}

/** Of a look that nothing speaks against. */
export function thereBy(check: ModelCheck): 'there' | 'reached' {
  return check.kind === 'reached' && check.hasModel === null ? 'reached' : 'there';
}
