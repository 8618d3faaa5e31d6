import type { ReservedPlaces } from '../../src/brains/tools/host-cage.ts';

/** Nothing of svc's own stands anywhere. */
export const noReserved: ReservedPlaces = { holds: async () => false };
