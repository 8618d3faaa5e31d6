/** Where a run listens, once it does. */
import { isListener } from '../channels/registry.ts';
import type { Config } from '../config/config.ts';
import type { AdminPlaced } from './admin-server.ts';

/** `window`: where the window of the application finds its pages; null: there is none around it. */
export type Listening = {
  readonly webhook: string | null;
  readonly admin: string | null;
  readonly window: WindowPlace | null;
};

/** `origin`: `http://127.0.0.1:<port>`. */
export type WindowPlace = { readonly origin: string; readonly canWrite: boolean };

/** @param placed null: there is no admin server */
export function whereItListens(config: Config, placed: AdminPlaced | null): Listening {
  const { channels, routes } = config;
  const configured = channels.find(isListener);
  const isRouted = routes.some(({ channel }) => channel === configured?.type);
  const webhook = isRouted ? configured : undefined;
  return {
    webhook: webhook === undefined ? null : `http://${webhook.bind.text}${webhook.path}`,
    admin: placed?.admin == null ? null : `http://${placed.admin}/ui`,
    window: placed?.window ?? null,
  };
}

/** The same for the log. */
export function describeWhere({ window, ...others }: Listening): Readonly<Record<string, unknown>> {
  return window === null ? others : { ...others, window: window.origin };
}
