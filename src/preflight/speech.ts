/** The server that writes down what is spoken: whether it is there. */
import type { MessengerConfig } from '../config/config.ts';
import { later } from '../lib/clock.ts';
import { readingOf, type ServiceKit } from '../service.ts';
import { failed, ok, type PreflightLine } from './lines.ts';

const lookMs = 5_000;

/** @returns null: nothing is listened to there */
export async function speechLine(
  config: MessengerConfig,
  kit: ServiceKit,
): Promise<PreflightLine | null> {
  const { speech } = readingOf(config, kit);
  if (speech === undefined) return null;
  const subject = `${config.type} speech`;
  const failure = await speech.look(later(kit.steady(), lookMs));
  if (failure === null) return ok(subject, 'the speech server is there');
  const remedy = 'Start it, or look at speech.base_url; until then no voice message is understood.';
  return failed(subject, `the speech server cannot be reached: ${failure.detail}`, remedy);
}
