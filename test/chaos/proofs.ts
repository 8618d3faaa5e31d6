/**
 * Every proof, in the order of their starts: first those that take longest at the size for every
 * change. A new proof is one line here.
 */
import { approvals } from './approvals.ts';
import { approvalsMany } from './approvals-many.ts';
import { botsKill } from './bots-kill.ts';
import { botsMany } from './bots-many.ts';
import { canaries } from './canaries.ts';
import { conversations } from './conversations.ts';
import { discordKill } from './discord-kill.ts';
import { failingDisk } from './failing-disk.ts';
import { gatheringKill } from './gathering-kill.ts';
import { hotReload } from './hot-reload.ts';
import { hungBrain } from './hung-brain.ts';
import { kill } from './kill.ts';
import { ledgerModel } from './ledger-model.ts';
import { longTests } from './long-tests.ts';
import { malformedProof } from './malformed.ts';
import { many } from './many.ts';
import { mcp } from './mcp.ts';
import { networkFaultsProof } from './network-faults.ts';
import { paced } from './paced.ts';
import { plainClient } from './plain-client.ts';
import { powerCut } from './power-cut.ts';
import { postgres } from './postgres.ts';
import { previews } from './previews.ts';
import { privateProof } from './private.ts';
import type { Proof } from './proof.ts';
import { routesReload } from './routes-reload.ts';
import { slowHeaders } from './slow-headers.ts';
import { soak } from './soak.ts';
import { spend } from './spend.ts';
import { telegramKill } from './telegram-kill.ts';
import { unread } from './unread.ts';
import { upgrade } from './upgrade.ts';
import { upgradeMany } from './upgrade-many.ts';

export const proofs: readonly Proof[] = [
  many,
  ledgerModel,
  previews,
  gatheringKill,
  privateProof,
  postgres,
  botsMany,
  approvals,
  unread,
  canaries,
  hotReload,
  approvalsMany,
  telegramKill,
  botsKill,
  paced,
  upgradeMany,
  spend,
  mcp,
  slowHeaders,
  networkFaultsProof,
  routesReload,
  conversations,
  discordKill,
  kill,
  hungBrain,
  powerCut,
  plainClient,
  upgrade,
  soak,
  malformedProof,
  failingDisk,
  longTests,
];
