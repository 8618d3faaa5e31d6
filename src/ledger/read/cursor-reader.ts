import type { ChannelKey } from '../../domain/ids.ts';

/** What channels noted, read beside a service that goes on noting. */
export type CursorReader = Disposable & {
  cursor(channel: ChannelKey, name: string): Promise<string | null>;
};
