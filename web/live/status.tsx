/** The service's status, read once for all views. */
import { createContext, useContext, useMemo, type ReactNode } from 'react';
import type { Status } from '../../src/admin/admin.ts';
import { useAsked, type Asked } from '../kit/use-asked.ts';

const everyMs = 2_000;

const StatusContext = createContext<Asked<Status> | null>(null);

/** Reads the status once for all views. */
export function StatusOfService({ children }: { readonly children: ReactNode }) {
  const { value, answeredAt, refused, again } = useAsked<Status>('status', everyMs);
  const asked = useMemo(
    () => ({ value, answeredAt, refused, again }),
    [value, answeredAt, refused, again],
  );
  return <StatusContext value={asked}>{children}</StatusContext>;
}

/** The last status of the service. */
export function useStatus(): Asked<Status> {
  const status = useContext(StatusContext);
  if (status === null) throw new Error('The status is asked for around every view.');
  return status;
}
