/** All faults, by room. `npm run planted` plants each of them. */
import { admin, web } from './admin.ts';
import { application } from './application.ts';
import { approvals } from './approvals.ts';
import { agent, brain, model } from './brain.ts';
import { discord, telegram, webhook } from './channel.ts';
import { config, control } from './config.ts';
import { desktop } from './desktop.ts';
import type { Fault } from './fault.ts';
import { flow } from './flow.ts';
import { many } from './many.ts';
import { byHand } from './by-hand.ts';
import { oneView } from './one-view.ts';
import { cli, preflight, service } from './program.ts';
import { postgres } from './postgres.ts';
import { domain, lib, policy } from './pure.ts';
import { secrets } from './secrets.ts';
import { setup } from './setup.ts';
import { spend } from './spend.ts';
import { sqlite } from './sqlite.ts';
import { store } from './store.ts';
import { tool } from './tool.ts';
import { trial } from './trial.ts';

export const rooms: Readonly<Record<string, readonly Fault[]>> = {
  lib,
  domain,
  config,
  control,
  flow,
  store,
  sqlite,
  postgres,
  many,
  brain,
  agent,
  model,
  policy,
  tool,
  trial,
  secrets,
  webhook,
  telegram,
  discord,
  admin,
  byHand,
  approvals,
  spend,
  oneView,
  cli,
  preflight,
  service,
  web,
  setup,
  desktop,
  application,
};
