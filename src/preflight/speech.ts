/** The server that writes down what is spoken: whether it is there. */
import type { Config, MessengerConfig } from '../config/config.ts';
import { later } from '../lib/clock.ts';
import { readingOf, type ServiceKit } from '../service.ts';
import { failed, ok, type PreflightLine } from './lines.ts';

const lookMs = 5_000;

/** @returns null: nothing is listened to there */
export async function speechLine(
  channel: MessengerConfig,
  config: Pick<Config, 'routes' | 'brains'>,
  kit: Pick<ServiceKit, 'http' | 'pictures' | 'steady'>,
): Promise<PreflightLine | null> {
  const { speech } = readingOf(channel, kit);
  if (speech === undefined) return null;
  const subject = `${channel.type} speech`;
  const route = config.routes.find((one) => one.channel === channel.type);
  const brain = config.brains.find(({ name }) => name === route?.brain);
  const failure = await speech.look(brain?.sensitivity ?? 'public', later(kit.steady(), lookMs));
  if (failure === null) return ok(subject, 'the speech server is there');
  const remedy = 'Start it, or look at speech.base_url; until then no voice message is understood.';
  return failed(subject, `the speech server cannot be reached: ${failure.detail}`, remedy);
}
