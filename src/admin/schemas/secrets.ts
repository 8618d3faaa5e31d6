/** What the API takes and tells of secrets; each is held to its type in secret-control.ts. */
import { secretSources } from '../../config/found-secret.ts';
import { keychainStates } from '../../domain/keychain-state.ts';
import { storeKinds } from '../secret-control.ts';
import { boolean, list, maybeText, object, oneOf, text } from './schema.ts';
import { problemAnd } from './status.ts';

const presence = {
  name: text,
  source: oneOf(...secretSources, 'missing'),
  inKeychain: boolean,
} as const;
const state = oneOf(...keychainStates);

export const secretsSchema = object({
  rows: list(object({ ...presence, usedAt: list(text), restart: boolean })),
  store: object({ kind: oneOf(...storeKinds), state, message: maybeText, remedy: maybeText }),
});
export const namesSchema = object({ names: list(text) });
export const presenceSchema = object({ rows: list(object(presence)) });
export const valueSchema = object({ value: text });

export const keychainUnavailable = {
  name: 'KeychainUnavailable',
  of: problemAnd('keychain_unavailable', { state, remedy: text }),
} as const;
