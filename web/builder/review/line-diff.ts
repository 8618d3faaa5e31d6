/** The lines in which two texts differ. Loaded late: few reviews show them. */
import { late } from '../../kit/late.tsx';

export const LineDiff = late('lines', async () => (await import('../../kit/diff.tsx')).Diff);
