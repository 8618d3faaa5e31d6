/** The server that writes down what is spoken: whether it does. */
import type { Config, MessengerConfig } from '../../config/config.ts';
import type { FailureKind } from '../../domain/failure.ts';
import { speechRemedy } from '../../domain/speech-remedies.ts';
import { later } from '../../lib/clock.ts';
import { readingOf, type ServiceDeps } from '../service.ts';
import { failed, ok, warning, type PreflightLine } from './lines.ts';

const lookMs = 10_000;

/** It is there, and has something else to do. */
const passing: ReadonlySet<FailureKind> = new Set(['overloaded', 'rate_limited']);

/**
 * Has a moment of silence written down.
 * @returns null: nothing is listened to there
 */
export async function speechLine(
  channel: MessengerConfig,
  config: Pick<Config, 'routes' | 'brains'>,
  deps: Pick<ServiceDeps, 'http' | 'pictures' | 'steady'>,
): Promise<PreflightLine | null> {
  const { speech } = readingOf(channel, deps);
  if (speech === undefined) return null;
  const { baseUrl, model } = channel.speech!;
  const subject = `${channel.type} speech at ${baseUrl}`;
  const route = config.routes.find((one) => one.channel === channel.type);
  const brain = config.brains.find(({ name }) => name === route?.brain);
  const failure = await speech.look(brain?.sensitivity ?? 'public', later(deps.steady(), lookMs));
  if (failure === null) return ok(subject, `writes down what is spoken, with the model ${model}`);
  const { kind, detail } = failure;
  if (kind === 'timeout') {
    const remedy = 'Try again in a minute: many servers load the model when they are first asked.';
    return warning(subject, 'did not write down a moment of silence within 10 s', remedy);
  }
  const message = `writes nothing down: ${detail}`;
  return (passing.has(kind) ? warning : failed)(subject, message, speechRemedy(kind));
}
