/** What is told of a configuration that has come into use in the place of another. */
import { changesOf, sentencesOf } from '../../config/changes/changes.ts';
import { locate } from '../../config/locate.ts';
import { unheededChanges } from '../../config/own-addresses.ts';
import type { EventHub } from '../../telemetry/events.ts';
import type { ConfigSnapshot, Warning } from './prepare.ts';

/** Tells the log what is new to warn of. @returns what has changed, for who asked for it */
export function describeChanges(
  before: ConfigSnapshot,
  after: ConfigSnapshot,
  events: Pick<EventHub, 'warned' | 'noticed'>,
): readonly string[] {
  for (const { code, path, message, remedy } of newWarnings(before, after)) {
    events.warned({ code, path, message: `${message}. ${remedy}` });
  }
  const unheeded = unheededChanges(before.config, after.config);
  if (unheeded.length > 0) {
    events.noticed({ code: 'address_by_flag', message: unheeded.join(' ') });
  }
  const changes = changesOf(locate(before.text).value, locate(after.text).value);
  return [...sentencesOf(changes), ...unheeded];
}

/** Warnings that the configuration before had as well were told with that one. */
function newWarnings(before: ConfigSnapshot, after: ConfigSnapshot): readonly Warning[] {
  const keyOf = ({ code, path, message }: Warning): string => `${code} ${path} ${message}`;
  const told = new Set(before.warnings.map(keyOf));
  return after.warnings.filter((warning) => !told.has(keyOf(warning)));
}
