import type { ReservedPlaces } from '../../src/brains/tools/caged-request.ts';

/** No place is svc's own. */
export const noReserved: ReservedPlaces = { holds: async () => false };
