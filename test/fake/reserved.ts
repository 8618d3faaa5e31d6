import type { ReservedPlaces } from '../../src/brains/tools/caged-request.ts';

/** Nothing of svc's own stands anywhere. */
export const noReserved: ReservedPlaces = { holds: async () => false };
