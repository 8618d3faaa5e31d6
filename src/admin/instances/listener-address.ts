import { findKind } from '../../channels/registry.ts';
import type { Viewer } from '../http/auth.ts';

type Listens = { readonly type: string; readonly bind: string; readonly path: string };

/** Where messages are sent to a channel. A path that somebody chose may be a secret. */
export function listenerAddress({ type, bind, path }: Listens, asker: Viewer): string {
  const mayTell = asker === 'operator' || path === findKind(type)?.listener?.path;
  return `http://${bind}${mayTell ? path : ''}`;
}
