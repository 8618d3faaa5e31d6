import { fileURLToPath } from 'node:url';
import type { AdminPorts } from '../admin/admin.ts';
import type { OperatorAccess } from '../admin/http/auth.ts';
import type { AdminOpened, AdminProblem } from '../admin/http/server.ts';
import type { ListenAddress } from '../config/config.ts';
import type { Lifetime } from '../lib/lifetime.ts';
import type { ServiceDeps } from './service.ts';

export type AdminChoice = {
  readonly address: ListenAddress;
  readonly access: OperatorAccess;
  /** Host names that the configuration in use allows. */
  readonly allowedHosts: () => readonly string[];
  readonly webRoot: URL;
  readonly ports: AdminPorts;
};

/**
 * Loaded only where one is wanted.
 * @param opened is given what closes it, also where its address cannot be had
 */
export async function openAdmin(
  { address, access, allowedHosts, webRoot, ports }: AdminChoice,
  { listeners }: ServiceDeps,
  opened: Lifetime,
): Promise<AdminOpened | AdminProblem> {
  const { createAdminServer } = await opened.within(() => import('../admin/http/server.ts'));
  const options = { address, allowedHosts, access, listeners, webRoot: fileURLToPath(webRoot) };
  const server = createAdminServer(ports, options);
  return opened.use(
    'the admin server',
    () => server.open(),
    () => server[Symbol.asyncDispose](),
  );
}
